package group

import (
	"slices"
	"time"
)

// Sync is a member's question for its assignment; the leader's brings
// everybody's.
type Sync struct {
	MemberID, InstanceID string
	Generation           int32
	// ProtocolType and Protocol are what the member takes for the group's;
	// empty: it does not say.
	ProtocolType, Protocol string
	Assignments            map[string][]byte // by member id
}

// Synced is the answer to a sync.
type Synced struct {
	Err                    error
	ProtocolType, Protocol string
	Assignment             []byte
}

// sync answers now, or parks the sync until the leader's comes.
func (g *machine) sync(now time.Time, r *Sync, to *Future[Synced]) {
	m, err := g.current(r.MemberID, r.InstanceID, r.Generation)
	switch {
	case err != nil:
	case r.ProtocolType != "" && r.ProtocolType != g.protocolType, r.Protocol != "" && r.Protocol != g.protocol:
		err = errProtocol
	case g.state == PreparingRebalance:
		err = errRebalance
	}
	if err != nil {
		to.give(Synced{Err: err})
		return
	}
	g.sawSync(m)
	if g.state == Stable {
		g.touch(m, now)
		to.give(g.assigned(m))
		return
	}
	if m.syncing != nil {
		m.syncing.give(Synced{Err: errRebalance}) // left behind on another connection
	}
	m.syncing = to
	if m.id == g.leader {
		g.assign(now, r.Assignments)
	}
}

// sawSync notes that a member has asked for its assignment. Once all have,
// there is nobody left to wait for.
func (g *machine) sawSync(m *member) {
	m.synced = true
	if !slices.ContainsFunc(g.inOrder, func(m *member) bool { return !m.synced }) {
		g.syncBy = time.Time{}
	}
}

// assign makes the group stable. Who is missing from the leader's list gets
// nothing.
func (g *machine) assign(now time.Time, assignments map[string][]byte) {
	g.enter(Stable, now)
	g.changed, g.dealt = true, 0
	for _, m := range g.inOrder {
		m.assignment = assignments[m.id]
		g.dealt += int64(len(m.assignment))
		if m.syncing != nil {
			m.syncing.give(g.assigned(m))
			m.syncing = nil
			g.touch(m, now)
		}
	}
}

func (g *machine) assigned(m *member) Synced {
	return Synced{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment}
}
