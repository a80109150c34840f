package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// troupe is a group to which anything may happen, and what it owes.
type troupe struct {
	t     *testing.T
	g     *machine
	now   time.Time
	ids   int
	joins map[*Future[Joined]]string
	syncs map[*Future[Synced]]string
	known []string // ids that members were told
	holds []troupeHold
}

// troupeHold is a hold of a member, and of the life it had then.
type troupeHold struct {
	member *member
	id     string
}

func newTroupe(t *testing.T, o *Options) *troupe {
	r := &troupe{t: t, now: dawn, joins: map[*Future[Joined]]string{}, syncs: map[*Future[Synced]]string{}}
	r.g = newMachine("g", o, func() string { r.ids++; return fmt.Sprint(r.ids) }, r.now)
	return r
}

// FuzzMachine does to a group whatever bytes say, and holds what must be true
// of it after each step. In the end everybody who waits is answered.
func FuzzMachine(f *testing.F) {
	for seed := range uint64(20) {
		b := make([]byte, 300)
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		o := DefaultOptions()
		o.MaxSize = 4
		if len(script) > 0 && script[0]%2 == 0 {
			o.InitialDelay = 0
		}
		r := newTroupe(t, &o)
		script = script[:min(len(script), 600)]
		for len(script) >= 3 {
			r.step(script[0], script[1], script[2])
			script = script[3:]
			r.check()
		}
		for len(r.holds) > 0 {
			r.release(0)
			r.check()
		}
		for range 100 {
			r.pass(10 * time.Minute)
		}
		if len(r.joins)+len(r.syncs) > 0 || len(r.g.inOrder)+len(r.g.pending) > 0 || !r.g.due.IsZero() {
			t.Fatalf("after a long time %d joins and %d syncs wait, %d members are left, due is %v", len(r.joins), len(r.syncs), len(r.g.inOrder), r.g.due)
		}
	})
}

// step is one event, chosen by the first byte, with others to choose from.
func (r *troupe) step(what, who, how byte) {
	id := "nobody"
	if len(r.known) > 0 {
		id = r.known[int(who)%len(r.known)]
	}
	instance := []string{"", "", "i", "j"}[who%4]
	generation := r.g.generation - int32(how%8/7)
	switch what % 12 {
	case 0, 1:
		r.join(&Join{InstanceID: instance, NeedsID: how%2 == 0, SkipsAssignments: how%3 == 0}, how)
	case 2, 3:
		r.join(&Join{MemberID: id, InstanceID: r.instanceOf(id)}, how)
	case 4, 5:
		f := newFuture[Synced]()
		r.syncs[f] = id
		r.g.sync(r.now, &Sync{MemberID: id, InstanceID: r.instanceOf(id), Generation: generation, Assignments: map[string][]byte{id: {how}}}, f)
	case 6:
		_ = r.g.heartbeat(r.now, &Heartbeat{MemberID: id, InstanceID: r.instanceOf(id), Generation: generation})
	case 7:
		r.g.leave(r.now, []Leave{{MemberID: id}, {InstanceID: instance}}[:1+how%2])
	case 8:
		_ = r.g.mayCommit(r.now, &Commit{MemberID: id, Generation: generation})
	case 9:
		r.pass(time.Duration(how) * 100 * time.Millisecond)
	case 10:
		if m, ok := r.g.members[id]; ok {
			r.g.hold(r.now, m)
			r.holds = append(r.holds, troupeHold{m, id})
		}
	case 11:
		r.release(int(how))
	}
	r.collect()
}

// release ends one of the holds.
func (r *troupe) release(which int) {
	if len(r.holds) == 0 {
		return
	}
	which %= len(r.holds)
	if h := r.holds[which]; r.g.members[h.id] == h.member {
		r.g.release(r.now, h.member)
	}
	r.holds = slices.Delete(r.holds, which, which+1)
}

func (r *troupe) instanceOf(id string) string {
	if m, ok := r.g.members[id]; ok {
		return m.instance
	}
	return ""
}

func (r *troupe) join(j *Join, how byte) {
	j.ClientID, j.ProtocolType = "c", "consumer"
	j.SessionTimeout = 6*time.Second + time.Duration(how)*20*time.Millisecond
	j.RebalanceTimeout = time.Duration(how%50) * 200 * time.Millisecond
	for i, name := range []string{"a", "b", "c"} {
		if how>>i%2 == 1 {
			j.Protocols = append(j.Protocols, Protocol{Name: name, Metadata: []byte{how % 4}})
		}
	}
	f := newFuture[Joined]()
	if err := r.g.o.checkJoin(j); err != nil {
		return
	}
	r.joins[f] = j.MemberID
	r.g.join(r.now, j, f)
}

// pass lets time pass, with the group woken when it wants to be.
func (r *troupe) pass(d time.Duration) {
	end := r.now.Add(d)
	for n := 0; !r.g.due.IsZero() && !r.g.due.After(end); n++ {
		if n > 10000 {
			r.t.Fatal("the group wants to be woken all the time")
		}
		if r.g.due.After(r.now) {
			r.now = r.g.due
		}
		r.g.expire(r.now)
		r.collect()
		r.check()
	}
	r.now = end
}

func (r *troupe) collect() {
	for f := range r.joins {
		select {
		case <-f.Done():
			delete(r.joins, f)
			if id := f.Value().MemberID; id != "" {
				r.known = append(r.known, id)
			}
		default:
		}
	}
	for f := range r.syncs {
		select {
		case <-f.Done():
			delete(r.syncs, f)
		default:
		}
	}
}

// check holds what is always true.
func (r *troupe) check() {
	g := r.g
	must := func(ok bool, format string, args ...any) {
		if !ok {
			r.t.Fatalf("%s, generation %d, %d members: "+format, append([]any{g.state, g.generation, len(g.inOrder)}, args...)...)
		}
	}
	joining, syncing := 0, 0
	for _, m := range g.inOrder {
		must(g.members[m.id] == m && (m.instance == "" || g.instances[m.instance] == m), "%s is lost", m.id)
		if m.joining != nil {
			joining++
		}
		if m.syncing != nil {
			syncing++
		}
		must(m.joining == nil || r.joins[m.joining] != "" || hasKey(r.joins, m.joining), "%s waits for an answer that was given", m.id)
	}
	must(len(g.members) == len(g.inOrder), "%d by id", len(g.members))
	must(joining == len(r.joins), "%d joins wait, %d members have one", len(r.joins), joining)
	must(syncing == len(r.syncs), "%d syncs wait, %d members have one", len(r.syncs), syncing)
	must(joining == 0 || g.state == PreparingRebalance, "somebody joins")
	must(syncing == 0 || g.state == CompletingRebalance, "somebody waits for the leader")
	must((g.state == Empty) == (len(g.inOrder) == 0) || g.state == PreparingRebalance, "the state is wrong")
	_, led := g.members[g.leader]
	must(led || len(g.inOrder) == 0, "%q leads", g.leader)
	must(g.state != Stable || g.allKnow(g.protocol), "not all know %q", g.protocol)
	known := map[string]int{}
	for _, m := range g.inOrder {
		holds := 0
		for _, h := range r.holds {
			if h.member == m && h.id == m.id {
				holds++
			}
		}
		must(m.holds == holds, "%s has %d holds, counted are %d", m.id, holds, m.holds)
		for _, p := range m.protocols {
			known[p.Name]++
		}
	}
	must(maps.Equal(known, g.known), "%v are known, counted are %v", known, g.known)
	must(g.keeps() == recount(g), "%d bytes are kept, counted are %d", g.keeps(), recount(g))
	must(g.state != Stable || dealtOut(g) <= g.dealt, "%d bytes are dealt out, counted are %d", dealtOut(g), g.dealt)
	asked := g.due
	g.rearm()
	must(g.due.IsZero() || !asked.IsZero() && !asked.After(g.due), "wants to be woken at %v, there is something to do at %v", asked, g.due)
	g.due = asked
}

func hasKey[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}
