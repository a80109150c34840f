package group

import (
	"slices"
	"time"

	"kaasd/internal/kafka"
)

// machine is one group: what its members have said, and the time, go in;
// futures are answered, and due says when it wants to be woken. It has no
// goroutine, no clock and no disk.
type machine struct {
	o     *Options
	name  string
	newID func() string // what makes member ids differ

	state        State
	since        time.Time // the state is so old
	protocolType string    // what the group is for; empty: it only keeps offsets
	protocol     string    // assignor of the generation
	generation   int32
	leader       string
	members      map[string]*member
	inOrder      []*member            // as they came
	instances    map[string]*member   // static ones
	known        map[string]int       // by protocol: how many members know it
	everKnown    int                  // the most that known had since it was made
	pending      map[string]time.Time // ids given out that nobody has joined with, until when
	deadline     time.Time            // PreparingRebalance: who has not joined by then is out
	initial      bool                 // the rebalance of a group that was empty
	outwaited    bool                 // the log was told of a throttle longer than a session
	grew         bool                 // a member has come since the last look
	left         time.Duration        // how much longer the initial rebalance may be put off
	syncBy       time.Time            // who has not synced by then is out; zero: all have
	kept         int64                // bytes of the members but for their assignments, and of promised ids
	dealt        int64                // bytes of the last assignments, also while the next are being made
	offsets      offsets
	due          time.Time // when to be woken; may be early, never late; zero: never

	changed    bool // the members or the state: the journal must hear of it
	rebalances int64
}

func newMachine(name string, o *Options, newID func() string, now time.Time) *machine {
	return &machine{o: o, name: name, newID: newID, since: now,
		members: map[string]*member{}, instances: map[string]*member{}, known: map[string]int{}, pending: map[string]time.Time{}}
}

// The answers to a member that must do something else first. They are told
// so often that they are made once.
var (
	errInvalidGroup = kafka.Errorf(kafka.InvalidGroupID, "the group has no name")
	errUnknown      = kafka.Errorf(kafka.UnknownMemberID, "the group has no such member")
	errFenced       = kafka.Errorf(kafka.FencedInstanceID, "another member has joined with the same group.instance.id")
	errGeneration   = kafka.Errorf(kafka.IllegalGeneration, "the generation is over")
	errRebalance    = kafka.Errorf(kafka.RebalanceInProgress, "the group is rebalancing: join again")
	errProtocol     = kafka.Errorf(kafka.InconsistentGroupProtocol, "the member has no protocol in common with the group")
	errFull         = kafka.Errorf(kafka.GroupMaxSizeReached, "the group has as many members as group.max.size allows")
	errNoGroup      = kafka.Errorf(kafka.GroupIDNotFound, "there is no such group")
	errNotEmpty     = kafka.Errorf(kafka.NonEmptyGroup, "the group has members")
	errDead         = kafka.Errorf(kafka.CoordinatorNotAvailable, "the group was just removed")
)

// arm wakes the machine at t at the latest.
func (g *machine) arm(t time.Time) {
	if g.due.IsZero() || t.Before(g.due) {
		g.due = t
	}
}

// enter changes the state.
func (g *machine) enter(s State, now time.Time) { g.state, g.since = s, now }

// touch begins a member's session anew.
func (g *machine) touch(m *member, now time.Time) {
	m.deadline, m.heldAt = now.Add(m.session), now
	g.arm(m.deadline)
}

// add makes a new member of a join.
func (g *machine) add(id string, r *Join, to *Future[Joined], now time.Time) {
	g.forget(id)
	m := &member{id: id, instance: r.InstanceID, fresh: true}
	m.take(r, to)
	m.deadline = now.Add(newJoinTimeout)
	g.arm(m.deadline)
	g.enlist(m)
	if len(g.inOrder) == 1 {
		g.protocolType, g.leader = r.ProtocolType, id
	}
	g.grew = true
}

func (g *machine) enlist(m *member) {
	g.members[m.id] = m
	g.inOrder = append(g.inOrder, m)
	if m.instance != "" {
		g.instances[m.instance] = m
	}
	g.count(m, 1)
}

// remove takes a member out. The next one in line leads if it led.
func (g *machine) remove(m *member, err error) {
	m.dismiss(err)
	g.count(m, -1)
	delete(g.members, m.id)
	if g.instances[m.instance] == m {
		delete(g.instances, m.instance)
	}
	g.inOrder = slices.DeleteFunc(g.inOrder, func(other *member) bool { return other == m })
	if g.leader == m.id {
		g.leader = ""
		if len(g.inOrder) > 0 {
			g.leader = g.inOrder[0].id
		}
	}
}

// find is the member that a request comes from: FencedInstanceID before
// UnknownMemberID, and that before IllegalGeneration.
func (g *machine) find(id, instance string) (*member, error) {
	if instance != "" {
		m, ok := g.instances[instance]
		switch {
		case !ok:
			return nil, errUnknown
		case m.id != id:
			return nil, errFenced
		}
		return m, nil
	}
	if m, ok := g.members[id]; ok {
		return m, nil
	}
	return nil, errUnknown
}

// current is find of a request that belongs to a generation.
func (g *machine) current(id, instance string, generation int32) (*member, error) {
	m, err := g.find(id, instance)
	if err == nil && generation != g.generation {
		return nil, errGeneration
	}
	return m, err
}

// longest is how long the slowest member may take to join again.
func (g *machine) longest() time.Duration {
	var d time.Duration
	for _, m := range g.inOrder {
		d = max(d, m.rebalance)
	}
	return d
}
