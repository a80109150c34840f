package group

import (
	"bytes"
	"slices"
	"time"
)

// Protocol is one assignor that a member knows, with what the assignor needs
// to know of the member.
type Protocol struct {
	Name     string
	Metadata []byte
}

// member is one member of a group.
type member struct {
	id, instance     string // instance is empty for a dynamic member
	clientID, host   string // of its last join
	session          time.Duration
	rebalance        time.Duration
	protocols        []Protocol // the one it likes best first
	assignment       []byte
	kept             int64           // bytes but for the assignment
	joining          *Future[Joined] // its join waits for the others
	syncing          *Future[Synced] // its sync waits for the leader
	synced           bool            // it has asked for the assignment of this generation
	fresh            bool            // its first join still waits
	deadline         time.Time       // end of the session, unless it waits or is held
	holds            int             // connections of it that are not read
	heldAt           time.Time       // with holds: since when the session stands still
	skipsAssignments bool            // its join understands SkipAssignment
}

// newJoinTimeout is how long the first join of a member may wait: it may come
// from a client that is long gone.
const newJoinTimeout = 5 * time.Minute

// expires is when the session ends, if it is running. While a member waits
// for the group it need not say that it is alive, and while it is held it cannot.
func (m *member) expires() (time.Time, bool) {
	switch {
	case m.holds > 0, m.syncing != nil, m.joining != nil && !m.fresh:
		return time.Time{}, false
	}
	return m.deadline, true
}

// take makes the member what its join says.
func (m *member) take(r *Join, to *Future[Joined]) {
	m.clientID, m.host = r.ClientID, r.ClientHost
	m.session, m.rebalance = r.SessionTimeout, r.RebalanceTimeout
	m.protocols, m.skipsAssignments = r.Protocols, r.SkipsAssignments
	m.weigh(r.ProtocolType)
	m.wait(to)
}

// wait parks the member's join. One that it has left behind on another
// connection is told to join again.
func (m *member) wait(to *Future[Joined]) {
	if m.joining != nil && m.joining != to {
		m.joining.give(Joined{Err: errRebalance, MemberID: m.id})
	}
	m.joining = to
}

// metadata is what the member told of itself for a protocol.
func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// says whether the member has told the very same protocols before.
func (m *member) says(protocols []Protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// dismiss answers what of the member still waits.
func (m *member) dismiss(err error) {
	if m.joining != nil {
		m.joining.give(Joined{Err: err, MemberID: m.id})
		m.joining = nil
	}
	if m.syncing != nil {
		m.syncing.give(Synced{Err: err})
		m.syncing = nil
	}
}
