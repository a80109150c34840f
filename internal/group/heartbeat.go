package group

import "time"

// Heartbeat says that a member is alive.
type Heartbeat struct {
	MemberID, InstanceID string
	Generation           int32
}

// heartbeat begins the member's session anew, and calls it to a rebalance.
func (g *machine) heartbeat(now time.Time, r *Heartbeat) error {
	m, err := g.current(r.MemberID, r.InstanceID, r.Generation)
	if err != nil {
		return err
	}
	g.touch(m, now)
	if g.state == PreparingRebalance {
		return errRebalance
	}
	return nil
}
