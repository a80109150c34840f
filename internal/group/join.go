package group

import (
	"maps"
	"slices"
	"time"

	"kaasd/internal/kafka"
)

// Join is a request to become, or to stay, a member.
type Join struct {
	MemberID         string // empty: it has none yet
	InstanceID       string // empty: a dynamic member
	ClientID         string
	ClientHost       string
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration
	ProtocolType     string
	Protocols        []Protocol
	// NeedsID says that a new member must be told its id first and come back
	// with it (KIP-394), so that a client that never sees its answer leaves no
	// ghost behind.
	NeedsID bool
	// SkipsAssignments says that the client understands Joined.SkipAssignment.
	SkipsAssignments bool
}

// Joined is the answer to a join. With an error the other fields are empty but
// for the id, which then is the one to come back with (MemberIDRequired) or the
// one asked with.
type Joined struct {
	Err            error
	Generation     int32
	ProtocolType   string
	Protocol       string
	Leader         string
	SkipAssignment bool // the leader has nothing to assign
	MemberID       string
	Members        []JoinedMember // everybody, for the leader
}

// JoinedMember is a member as the leader sees it.
type JoinedMember struct {
	ID, InstanceID string
	Metadata       []byte
}

// checkJoin is what is asked of a join before a group is.
func (o *Options) checkJoin(r *Join) error {
	if r.SessionTimeout < o.MinSession || r.SessionTimeout > o.MaxSession {
		return kafka.Errorf(kafka.InvalidSessionTimeout, "a session of %v is not between %v and %v (group.min.session.timeout.ms, group.max.session.timeout.ms)",
			r.SessionTimeout, o.MinSession, o.MaxSession)
	}
	if len(r.Protocols) == 0 || r.ProtocolType == "" {
		return errProtocol
	}
	return nil
}

// join answers now, or parks the join.
func (g *machine) join(now time.Time, r *Join, to *Future[Joined]) {
	refuse := func(err error, id string) { to.give(Joined{Err: err, MemberID: id}) }
	switch {
	case g.state == Dead:
		refuse(errDead, r.MemberID)
	case !g.accepts(r):
		refuse(errFull, "")
	case !g.suits(r):
		refuse(errProtocol, r.MemberID)
	case r.MemberID != "":
		g.rejoin(now, r, to)
	case r.InstanceID != "":
		g.joinStatic(now, r, to)
	default:
		g.joinDynamic(now, r, to)
	}
}

// accepts says whether there is room for the member. A static one that comes
// back takes its own place.
func (g *machine) accepts(r *Join) bool {
	m, known := g.members[r.MemberID]
	if static, ok := g.instances[r.InstanceID]; ok {
		m, known = static, true
	}
	switch g.state {
	case PreparingRebalance:
		if known && m.joining != nil {
			return true
		}
		return g.waiting() < g.o.MaxSize
	case CompletingRebalance, Stable:
		_, promised := g.pending[r.MemberID]
		return known || promised || len(g.inOrder) < g.o.MaxSize
	}
	return true
}

// waiting is how many members have joined the rebalance.
func (g *machine) waiting() int {
	n := 0
	for _, m := range g.inOrder {
		if m.joining != nil {
			n++
		}
	}
	return n
}

// suits says whether the group speaks the member's type, and one of its
// protocols.
func (g *machine) suits(r *Join) bool {
	if len(g.inOrder) == 0 {
		return true
	}
	return r.ProtocolType == g.protocolType && slices.ContainsFunc(r.Protocols, func(p Protocol) bool { return g.allKnow(p.Name) })
}

func (g *machine) allKnow(protocol string) bool { return g.known[protocol] == len(g.inOrder) }

// count adds a member's bytes, and to how many know its protocols: 1 for it, or
// -1 when they are its no longer. A client may name very many, some of them
// twice.
func (g *machine) count(m *member, by int) {
	g.kept += int64(by) * m.kept
	counted := make(map[string]bool, len(m.protocols))
	for _, p := range m.protocols {
		if counted[p.Name] {
			continue
		}
		counted[p.Name] = true
		if g.known[p.Name] += by; g.known[p.Name] == 0 {
			delete(g.known, p.Name)
		}
	}
	g.trim()
}

// trim gives back what protocols took that nobody knows any more: a map never
// shrinks.
func (g *machine) trim() {
	const small = 1000
	g.everKnown = max(g.everKnown, len(g.known))
	if g.everKnown > small && len(g.known) < g.everKnown/4 {
		left := make(map[string]int, len(g.known))
		maps.Copy(left, g.known)
		g.known, g.everKnown = left, len(left)
	}
}

// renew makes a member what its new join says.
func (g *machine) renew(m *member, r *Join, to *Future[Joined]) {
	g.count(m, -1)
	m.take(r, to)
	g.count(m, 1)
}

// maxPending is how many ids may be promised at a time: they cost a client
// nothing.
const maxPending = 10000

// promiseTime is how long an id is promised at the most. Clients come back with it at
// once, and until then it keeps room from others.
const promiseTime = time.Minute

func (g *machine) joinDynamic(now time.Time, r *Join, to *Future[Joined]) {
	id := r.ClientID + "-" + g.newID()
	if r.NeedsID && len(g.pending) >= maxPending {
		to.give(Joined{Err: errFull})
		return
	}
	if r.NeedsID {
		g.promise(id, now.Add(min(r.SessionTimeout, promiseTime)))
		to.give(Joined{Err: kafka.Errorf(kafka.MemberIDRequired, "join again with the member id"), MemberID: id})
		return
	}
	g.add(id, r, to, now)
	g.rebalance(now)
}

// rejoin is a join with an id.
func (g *machine) rejoin(now time.Time, r *Join, to *Future[Joined]) {
	if _, promised := g.pending[r.MemberID]; promised && r.InstanceID == "" {
		g.add(r.MemberID, r, to, now)
		g.rebalance(now)
		return
	}
	m, err := g.find(r.MemberID, r.InstanceID)
	if err != nil {
		to.give(Joined{Err: err, MemberID: r.MemberID})
		return
	}
	if g.missedAnswer(m, r) {
		g.touch(m, now)
		to.give(g.joined(m))
		return
	}
	g.renew(m, r, to)
	g.rebalance(now)
}

// missedAnswer says whether a join changes nothing, so that it must be that of
// a member that has not seen the answer to its last one. The leader of a stable
// group means a rebalance: only it can see that there is something new to
// assign.
func (g *machine) missedAnswer(m *member, r *Join) bool {
	if !m.says(r.Protocols) {
		return false
	}
	return g.state == CompletingRebalance || g.state == Stable && m.id != g.leader
}

// joined is the answer to a member of the generation.
func (g *machine) joined(m *member) Joined {
	answer := Joined{Generation: g.generation, ProtocolType: g.protocolType, Protocol: g.protocol, Leader: g.leader, MemberID: m.id}
	if m.id == g.leader && g.state == CompletingRebalance {
		answer.Members = g.roll()
	}
	return answer
}

// roll is everybody, for the leader.
func (g *machine) roll() []JoinedMember {
	all := make([]JoinedMember, len(g.inOrder))
	for i, m := range g.inOrder {
		all[i] = JoinedMember{ID: m.id, InstanceID: m.instance, Metadata: m.metadata(g.protocol)}
	}
	return all
}
