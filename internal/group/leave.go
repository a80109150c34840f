package group

import "time"

// Leave is one member that is to leave, by its id, or a static one by its
// instance alone.
type Leave struct {
	MemberID, InstanceID string
}

// leave takes members out and tells for each whether it was one.
func (g *machine) leave(now time.Time, leaving []Leave) []error {
	results := make([]error, len(leaving))
	gone := false
	for i, l := range leaving {
		results[i] = g.leaveOne(l)
		gone = gone || results[i] == nil
	}
	if gone {
		g.depart(now)
	}
	return results
}

func (g *machine) leaveOne(l Leave) error {
	if _, promised := g.pending[l.MemberID]; promised && l.InstanceID == "" {
		g.forget(l.MemberID)
		return nil
	}
	id := l.MemberID
	if m, ok := g.instances[l.InstanceID]; ok && id == "" {
		id = m.id // by the instance alone
	}
	m, err := g.find(id, l.InstanceID)
	if err != nil {
		return err
	}
	g.remove(m, errUnknown)
	return nil
}
