package group

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

// Coordinator looks after all groups: it gives each of them one event at a
// time, the time when that matters, and a place in the journal. All methods may
// be called together.
type Coordinator struct {
	o       Options
	logger  *zap.Logger
	journal *journal
	timers  *timers
	members account
	offsets account
	told    pause // of a long throttle

	mu     sync.RWMutex
	groups map[string]*group
}

// group is a machine with its lock. Once it is Dead it is not in the map any
// more, and who finds that out looks again.
type group struct {
	mu sync.Mutex
	*machine
	charged [kinds]int64 // what the accounts have for it

	alarm time.Time // belongs to the timers, as place
	place int
}

// Open reads the groups back from their log. Nothing runs before Run.
func Open(ctx context.Context, log storage.Log, o Options, logger *zap.Logger, reg prometheus.Registerer) (*Coordinator, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &Coordinator{o: o, logger: logger.Named("group"), journal: newJournal(log, &o), timers: newTimers(), groups: map[string]*group{}}
	c.members.limit = o.room(ofMembers)
	c.offsets.kind, c.offsets.limit = ofOffsets, o.room(ofOffsets)
	if err := c.replay(ctx, time.Now()); err != nil {
		return nil, fmt.Errorf("read the log of groups: %w", err)
	}
	if reg != nil {
		reg.MustRegister(collector{c})
	}
	return c, nil
}

// Options are what the groups are run with.
func (c *Coordinator) Options() Options { return c.o }

// newID is a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (c *Coordinator) newGroup(name string, now time.Time) *group {
	return &group{machine: newMachine(name, &c.o, newID, now)}
}

// find gives a group, which is made when it must be.
func (c *Coordinator) find(name string, make bool, now time.Time) *group {
	c.mu.RLock()
	g := c.groups[name]
	c.mu.RUnlock()
	if g != nil || !make {
		return g
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g = c.groups[name]; g == nil {
		g = c.newGroup(name, now)
		c.groups[name] = g
	}
	return g
}

// with lets do have a group to itself, and says whether there is one. What
// follows from what was done is seen to before anybody else has the group.
func (c *Coordinator) with(name string, make bool, now time.Time, do func(g *group)) bool {
	for {
		g := c.find(name, make, now)
		if g == nil {
			return false
		}
		if c.own(g, now, do) {
			return true
		}
	}
}

// own is with for a group that was found; false: it is dead by now.
func (c *Coordinator) own(g *group, now time.Time, do func(g *group)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == Dead {
		return false
	}
	do(g)
	c.settle(g, now)
	return true
}

// settle writes down what has changed, and sets the account and the alarm. Of a
// group that was never more than a try nothing is kept.
func (c *Coordinator) settle(g *group, now time.Time) {
	if g.changed && g.state != Dead {
		g.changed = false
		if _, err := c.journal.append(now, g.saved()); err != nil {
			c.logger.Error("members of a group are not written down, a restart would have them join again", zap.String("group", g.name), zap.Error(err))
		}
	}
	if g.state != Dead && g.generation == 0 && !g.remains() {
		c.bury(g)
	}
	c.settleAccounts(g)
	c.timers.set(g, g.due)
}

// bury takes a group out. Its lock is held, and it has nobody who waits.
func (c *Coordinator) bury(g *group) {
	g.state, g.due = Dead, time.Time{}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.groups, g.name)
}

// all are the groups as of now, in order of their names.
func (c *Coordinator) all() []*group {
	c.mu.RLock()
	groups := make([]*group, 0, len(c.groups))
	for _, g := range c.groups {
		groups = append(groups, g)
	}
	c.mu.RUnlock()
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	return groups
}

// Join makes a client a member, or keeps it one. The answer comes when the
// rebalance is over.
func (c *Coordinator) Join(now time.Time, name string, r *Join) *Future[Joined] {
	answer := newFuture[Joined]()
	if err := c.checkJoin(name, r); err != nil {
		answer.give(Joined{Err: err, MemberID: r.MemberID})
		return answer
	}
	// A member of a group that is not there is none; who has no id yet may
	// found it.
	if !c.with(name, r.MemberID == "", now, func(g *group) {
		if !c.fits(&c.members, g, now, "JoinGroup", g.joinGrowth(r)) || !c.fits(&c.offsets, g, now, "JoinGroup", g.outlastGrowth()) {
			answer.give(Joined{Err: errNoRoom, MemberID: r.MemberID})
			return
		}
		g.join(now, r, answer)
	}) {
		answer.give(Joined{Err: errUnknown, MemberID: r.MemberID})
	}
	return answer
}

func (c *Coordinator) checkJoin(name string, r *Join) error {
	if name == "" {
		return errInvalidGroup
	}
	return c.o.checkJoin(r)
}

// Sync asks for a member's assignment. The answer comes with the leader's.
func (c *Coordinator) Sync(now time.Time, name string, r *Sync) *Future[Synced] {
	answer := newFuture[Synced]()
	switch {
	case name == "":
		answer.give(Synced{Err: errInvalidGroup})
	case !c.with(name, false, now, func(g *group) {
		if !c.fits(&c.members, g, now, "SyncGroup", g.syncGrowth(r)) {
			answer.give(Synced{Err: errNoRoomAssigned})
			return
		}
		g.sync(now, r, answer)
	}):
		answer.give(Synced{Err: errUnknown})
	}
	return answer
}

// Heartbeat says that a member is alive; RebalanceInProgress calls it to join.
func (c *Coordinator) Heartbeat(now time.Time, name string, r *Heartbeat) (err error) {
	if name == "" {
		return errInvalidGroup
	}
	if !c.with(name, false, now, func(g *group) { err = g.heartbeat(now, r) }) {
		return errUnknown
	}
	return err
}

// Leave takes members out of a group, and tells for each whether it was one.
func (c *Coordinator) Leave(now time.Time, name string, leaving []Leave) (results []error, err error) {
	if name == "" {
		return nil, errInvalidGroup
	}
	if !c.with(name, false, now, func(g *group) { results = g.leave(now, leaving) }) {
		return slices.Repeat([]error{errUnknown}, len(leaving)), nil
	}
	return results, nil
}

// Describe tells a group; false: there is none.
func (c *Coordinator) Describe(name string) (d Description, ok bool) {
	g := c.find(name, false, time.Time{})
	if g == nil {
		return Description{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.describe(), g.state != Dead
}

// Count is how many groups there are.
func (c *Coordinator) Count() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.groups)
}

// List tells all groups, in order of their names.
func (c *Coordinator) List() []Listing {
	var list []Listing
	for _, g := range c.all() {
		g.mu.Lock()
		if g.state != Dead {
			list = append(list, Listing{Name: g.name, ProtocolType: g.protocolType, State: g.state})
		}
		g.mu.Unlock()
	}
	return list
}

// Delete removes a group without members, with its offsets.
func (c *Coordinator) Delete(ctx context.Context, now time.Time, name string) error {
	var end int64
	var refused, failed error
	if !c.with(name, false, now, func(g *group) {
		if g.state != Empty {
			refused = errNotEmpty
			return
		}
		if end, failed = c.journal.append(now, &groupDeleted{Group: name}); failed == nil {
			c.bury(g)
		}
	}) {
		return errNoGroup
	}
	return c.written(ctx, end, refused, failed)
}

// written is how a change ended: refused by the group, failed by the journal,
// or written once it counts. That the journal does not take it is told as a
// coordinator that is away, for which clients come back.
func (c *Coordinator) written(ctx context.Context, end int64, refused, failed error) error {
	if refused != nil {
		return refused
	}
	if failed == nil {
		failed = c.journal.wait(ctx, end)
	}
	if failed != nil {
		return kafka.Hide(kafka.CoordinatorNotAvailable, failed)
	}
	return nil
}
