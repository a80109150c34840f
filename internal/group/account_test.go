package group

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

// recount is what a group keeps, counted anew.
func recount(g *machine) (bytes int64) {
	if len(g.inOrder)+len(g.pending) == 0 {
		return 0
	}
	bytes = groupBytes + int64(len(g.name)) + g.dealt
	for id := range g.pending {
		bytes += promiseBytes + int64(len(id))
	}
	for _, m := range g.inOrder {
		bytes += memberBytes + int64(len(m.id+m.instance+m.clientID+g.protocolType))
		for _, p := range m.protocols {
			bytes += protocolBytes + int64(len(p.Name)+len(p.Metadata))
		}
	}
	return bytes
}

// recountOffsets is what a group keeps of offsets, counted anew.
func recountOffsets(g *machine) (bytes int64) {
	topics := g.offsets.topics()
	if len(topics) == 0 && g.generation == 0 {
		return 0
	}
	bytes = groupBytes + int64(len(g.name))
	for _, t := range topics {
		bytes += topicBytes + int64(len(t.Name))
		for _, p := range t.Partitions {
			bytes += offsetBytes + int64(len(p.Metadata))
		}
	}
	return bytes
}

// dealtOut is how many bytes of assignments the members have.
func dealtOut(g *machine) (bytes int64) {
	for _, m := range g.inOrder {
		bytes += int64(len(m.assignment))
	}
	return bytes
}

// journey is groups to which anything happens, and what their account must say.
type journey struct {
	t       *testing.T
	c       *Coordinator
	rnd     *rand.Rand
	now     time.Time
	kept    [kinds]int64 // when it was last looked at
	ids     []string
	refused map[error]int
}

// limits are so low that some requests find no room.
var limits = [kinds]int64{40_000, 16_000}

func (j *journey) open(c *Coordinator) {
	j.c, c.members.limit, c.offsets.limit = c, limits[ofMembers], limits[ofOffsets]
	j.kept = [kinds]int64{c.members.kept.Load(), c.offsets.kept.Load()}
}

// TestAccounts: whatever happens to groups, the accounts have what they keep and no
// more than they may; nothing, once nobody is there and all has lapsed.
func TestAccounts(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			fs, o := vfs.Memory(), DefaultOptions()
			o.InitialDelay, o.MaxSize = time.Duration(seed%2)*time.Second, 5
			c, stop, err := openOn(t, fs, o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { stop() }()
			j := &journey{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), now: time.Now(), refused: map[error]int{}}
			j.open(c)
			for i := range 1500 {
				j.step()
				if i%300 == 299 {
					stop()
					if c, stop, err = openOn(t, fs, o); err != nil {
						t.Fatal(err)
					}
					// Those that were written down may keep more than those who were there last.
					j.open(c)
					j.check()
				}
			}
			for _, err := range []error{errNoRoom, errNoRoomAssigned, errNoRoomOffsets} {
				if j.refused[err] == 0 {
					t.Errorf("never: %v", err)
				}
			}
			for range 20 {
				j.now = j.now.Add(time.Hour)
				c.wake(j.now)
				j.check()
			}
			j.now = j.now.Add(o.Retention)
			for range 2 { // offsets, then groups
				c.retain(j.now)
				j.check()
			}
			if j.kept != [kinds]int64{} {
				t.Errorf("nobody is left, and %d bytes are kept", j.kept)
			}
		})
	}
}

func (j *journey) step() {
	name, id := fmt.Sprint("g", j.rnd.IntN(6)), ""
	if len(j.ids) > 0 {
		id = j.ids[j.rnd.IntN(len(j.ids))]
	}
	switch j.rnd.IntN(16) {
	case 0, 1, 2:
		j.join(name, &Join{InstanceID: []string{"", "", "i", "j"}[j.rnd.IntN(4)], NeedsID: j.rnd.IntN(2) == 0})
	case 3, 4, 5:
		j.join(name, &Join{MemberID: id, InstanceID: j.member(name, id).InstanceID})
	case 6, 7, 8:
		j.sync(name)
	case 9:
		_, _ = j.c.Leave(j.now, name, []Leave{{MemberID: id}, {InstanceID: "i"}}[:1+j.rnd.IntN(2)])
	case 10:
		_ = j.c.Delete(j.t.Context(), j.now, name)
	case 11:
		j.now = j.now.Add(time.Duration(j.rnd.IntN(8000)) * time.Millisecond)
		j.c.wake(j.now)
	case 12, 13, 14:
		r := &Commit{MemberID: id, InstanceID: j.member(name, id).InstanceID, Generation: -1, Topics: j.topics()}
		if g := j.c.groups[name]; g != nil {
			r.Generation = g.generation
		}
		if j.rnd.IntN(2) == 0 {
			r.MemberID, r.InstanceID, r.Generation = "", "", -1
		}
		j.answered(j.c.Commit(j.t.Context(), j.now, name, r), "")
	case 15:
		_, _ = j.c.Drop(j.t.Context(), j.now, name, j.topics())
		j.c.retain(j.now)
	}
	j.check()
}

// topics are some offsets, of which two may be of one partition.
func (j *journey) topics() []Topic {
	all := offset(byte(j.rnd.IntN(4)), 0, 1)
	for range j.rnd.IntN(4) {
		all[0].Partitions = append(all[0].Partitions, Partition{int32(j.rnd.IntN(3)), Committed{Metadata: string(j.bytes(300)), At: j.now.UnixMilli(), Expires: -1}})
	}
	return all
}

func (j *journey) bytes(most int) []byte { return make([]byte, j.rnd.IntN(most)) }

func (j *journey) join(name string, r *Join) {
	r.ClientID, r.ClientHost = strings.Repeat("c", j.rnd.IntN(50)), "/host"
	r.SessionTimeout, r.RebalanceTimeout, r.ProtocolType = 10*time.Second, 20*time.Second, "consumer"
	r.Protocols = []Protocol{{Name: "range", Metadata: j.bytes(3000)}, {Name: "sticky", Metadata: j.bytes(3000)}}[:1+j.rnd.IntN(2)]
	f := j.c.Join(j.now, name, r)
	select {
	case <-f.Done():
		j.answered(f.Value().Err, f.Value().MemberID)
	default:
		g := j.c.groups[name]
		j.answered(nil, g.inOrder[len(g.inOrder)-1].id)
	}
}

func (j *journey) sync(name string) {
	g := j.c.groups[name]
	if g == nil {
		return
	}
	r := &Sync{MemberID: g.leader, Generation: g.generation, Assignments: map[string][]byte{"stranger": j.bytes(500)}}
	r.InstanceID = j.member(name, g.leader).InstanceID
	for _, m := range g.inOrder {
		r.Assignments[m.id] = j.bytes(2000)
	}
	f := j.c.Sync(j.now, name, r)
	select {
	case <-f.Done():
		j.answered(f.Value().Err, "")
	default:
	}
}

func (j *journey) answered(err error, id string) {
	if err != nil {
		j.refused[err]++
	}
	if id != "" {
		j.ids = append(j.ids, id)
		j.ids = j.ids[max(0, len(j.ids)-30):]
	}
}

func (j *journey) member(name, id string) DescribedMember {
	d, _ := j.c.Describe(name)
	i := slices.IndexFunc(d.Members, func(m DescribedMember) bool { return m.ID == id })
	if i < 0 {
		return DescribedMember{}
	}
	return d.Members[i]
}

func (j *journey) check() {
	j.t.Helper()
	var want [kinds]int64
	for _, g := range j.c.all() {
		want[ofMembers] += recount(g.machine)
		want[ofOffsets] += recountOffsets(g.machine)
		if out := dealtOut(g.machine); g.state == Stable && out > g.dealt {
			j.t.Fatalf("%s has %d bytes of assignments, counted are %d", g.name, out, g.dealt)
		}
	}
	got := [kinds]int64{j.c.members.kept.Load(), j.c.offsets.kept.Load()}
	for k := range got {
		// Groups that were joined while there was room stay when all have left.
		if beyond := int64(k) * 6 * (groupBytes + 2); got[k] != want[k] || got[k] > max(limits[k]+beyond, j.kept[k]) {
			j.t.Fatalf("the accounts had %d bytes, now %d of %d, the groups keep %d", j.kept, got, limits, want)
		}
	}
	j.kept = got
}

// large is a join with so many bytes of metadata.
func large(id string, bytes int) *Join {
	r := consumer(id)
	r.Protocols[0].Metadata = make([]byte, bytes)
	return r
}

// TestNoRoom: who would have the members keep too much is refused, and told once;
// who is there stays, and comes back with what it had.
func TestNoRoom(t *testing.T) {
	const mib = 1 << 20
	c := open(t, func(o *Options) { o.Memory = 32 * mib }) // members may keep 16 MiB
	core, lines := observer.New(zap.WarnLevel)
	c.logger = zap.New(core)
	now := time.Now()
	code := func(name string, r *Join) kafka.Code {
		f := c.Join(now, name, r)
		<-f.Done()
		return kafka.CodeOf(f.Value().Err)
	}
	var mine Joined // a static member
	join := func(bytes int) kafka.Code {
		r := large(mine.MemberID, bytes)
		r.InstanceID, r.ClientHost = "i", strings.Repeat("h", int(mine.Generation)) // it may move
		f := c.Join(now, "mine", r)
		<-f.Done()
		if f.Value().Err == nil {
			mine = f.Value()
		}
		return kafka.CodeOf(f.Value().Err)
	}
	assign := func(bytes int, generation int32) kafka.Code {
		return kafka.CodeOf(c.Sync(now, "mine", &Sync{MemberID: mine.MemberID, InstanceID: "i", Generation: generation,
			Assignments: map[string][]byte{mine.MemberID: make([]byte, bytes)}}).Value().Err)
	}
	for _, step := range []struct {
		name string
		do   func() kafka.Code
		want kafka.Code
	}{
		{"the first", func() kafka.Code { return join(6 * mib) }, kafka.NoError},
		{"an assignment that fits", func() kafka.Code { return assign(3*mib, 1) }, kafka.NoError},
		{"another group", func() kafka.Code { return code("other", large("", 6*mib)) }, kafka.NoError},
		{"one too many", func() kafka.Code { return code("third", large("", 2*mib)) }, kafka.GroupMaxSizeReached},
		{"again", func() kafka.Code { return code("third", large("", 2*mib)) }, kafka.GroupMaxSizeReached},
		{"no such member", func() kafka.Code { return code("other", large("x", 2*mib)) }, kafka.UnknownMemberID},
		{"small enough", func() kafka.Code { return code("third", large("", mib/2)) }, kafka.NoError},
		{"a member that grows", func() kafka.Code { return join(7 * mib) }, kafka.GroupMaxSizeReached},
		{"as before", func() kafka.Code { return join(6 * mib) }, kafka.NoError},
		{"a larger assignment", func() kafka.Code { return assign(4*mib, 2) }, kafka.MessageTooLarge},
		{"of a generation that is over", func() kafka.Code { return assign(4*mib, 1) }, kafka.IllegalGeneration},
		{"the same", func() kafka.Code { return assign(3*mib, 2) }, kafka.NoError},
		{"its next life", func() kafka.Code { mine.MemberID = ""; return join(6 * mib) }, kafka.NoError},
		{"less", func() kafka.Code { return join(mib) }, kafka.NoError},
		{"there is room again", func() kafka.Code { return code("fourth", large("", 2*mib)) }, kafka.NoError},
	} {
		if got := step.do(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	if told := lines.TakeAll(); len(told) != 1 || told[0].ContextMap()["group"] != "third" || told[0].ContextMap()["memory.limit"] != int64(32*mib) {
		t.Errorf("told: %+v", told)
	}
	if _, there := c.Describe("x"); there || len(c.List()) != 4 {
		t.Errorf("%+v", c.List())
	}
	now = now.Add(tellEvery)
	if code("fifth", large("", 16*mib)); lines.Len() != 1 {
		t.Errorf("%d lines after a pause", lines.Len())
	}
}

// lever commits to a group that has 4000 bytes of partition 0: that it takes less,
// again and again, then as much as before, and others besides.
func lever(c *Coordinator, name string) kafka.Code {
	topics := offset(1, 0, 7)
	for range 100 {
		topics[0].Partitions = append(topics[0].Partitions, Partition{Committed: Committed{Offset: 7, Expires: -1}})
	}
	for p := range int32(50) {
		topics[0].Partitions = append(topics[0].Partitions, Partition{p, Committed{Offset: 7, Expires: -1, Metadata: strings.Repeat("m", 4000)}})
	}
	return kafka.CodeOf(c.Commit(context.Background(), time.Now(), name, &Commit{Generation: -1, Topics: topics}))
}

// TestNoRoomForOffsets: who commits without end is refused, and told once; what is
// kept already goes on, also after a restart with less memory.
func TestNoRoomForOffsets(t *testing.T) {
	fs, o := vfs.Memory(), DefaultOptions()
	o.InitialDelay, o.Memory = 0, 32<<20 // offsets may keep 16 MiB
	now := time.Now()
	commit := func(c *Coordinator, name string, bytes int) kafka.Code {
		topics := offset(1, 0, 7)
		topics[0].Partitions[0].Metadata = strings.Repeat("m", bytes)
		return kafka.CodeOf(c.Commit(t.Context(), now, name, &Commit{Generation: -1, Topics: topics}))
	}
	c, stop, err := openOn(t, fs, o)
	if err != nil {
		t.Fatal(err)
	}
	core, lines := observer.New(zap.WarnLevel)
	c.logger = zap.New(core)
	many := 0
	for commit(c, fmt.Sprint("g", many), 4000) == kafka.NoError {
		many++
	}
	if least := 16 << 20 / (4000 + groupBytes + topicBytes + offsetBytes + 20); many < least || many > least+10 {
		t.Errorf("%d groups, want about %d", many, least)
	}
	for i := 0; commit(c, fmt.Sprint("small", i), 0) == kafka.NoError; i++ {
	}
	for _, step := range []struct {
		name string
		do   func() kafka.Code
		want kafka.Code
	}{
		{"another group", func() kafka.Code { return commit(c, "x", 0) }, kafka.InvalidCommitOffsetSize},
		{"one that is there", func() kafka.Code { return commit(c, "g0", 4000) }, kafka.NoError},
		{"less", func() kafka.Code { return commit(c, "g0", 0) }, kafka.NoError},
		{"more again", func() kafka.Code { return commit(c, "g0", 4000) }, kafka.NoError},
		{"a join that would stay for good", func() kafka.Code {
			return kafka.CodeOf(c.Join(now, strings.Repeat("n", 1000), consumer("")).Value().Err)
		}, kafka.GroupMaxSizeReached},
		{"a join to a group that is there", func() kafka.Code { return kafka.CodeOf(c.Join(now, "g1", consumer("")).Value().Err) }, kafka.NoError},
		{"many times the same, less at first", func() kafka.Code { return lever(c, "g0") }, kafka.InvalidCommitOffsetSize},
		{"one that is deleted", func() kafka.Code { return kafka.CodeOf(c.Delete(t.Context(), now, "g2")) }, kafka.NoError},
		{"there is room again", func() kafka.Code { return commit(c, "x", 4000) }, kafka.NoError},
	} {
		if got := step.do(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	if told := lines.TakeAll(); len(told) != 1 || told[0].ContextMap()["group"] != fmt.Sprint("g", many) || told[0].Message != noRoom[ofOffsets] {
		t.Errorf("told: %+v", told)
	}
	before := c.offsets.kept.Load()
	stop()
	if c, stop, err = openOn(t, fs, o); err != nil {
		t.Fatal(err)
	}
	defer func() { stop() }()
	if got := c.offsets.kept.Load(); got != before {
		t.Errorf("%d bytes are counted after a restart, %d before", got, before)
	}
	c.offsets.limit = 1 << 20
	if got := commit(c, "g0", 4000); got != kafka.NoError || found(c, "g0", 1, 0) != 7 {
		t.Errorf("what was kept before: %s", got)
	}
}

// TestNoRoomAfterRestart: members that were there when memory was larger stay,
// and come back with what they had.
func TestNoRoomAfterRestart(t *testing.T) {
	fs, o := vfs.Memory(), DefaultOptions()
	o.InitialDelay = 0
	var ids []string
	for _, memory := range []int64{1 << 30, 32 << 20} {
		o.Memory = memory
		c, stop, err := openOn(t, fs, o)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for i := range 3 {
			name, id := fmt.Sprint("g", i), ""
			if memory < 1<<30 {
				id = ids[i]
			}
			v := c.Join(now, name, large(id, 6<<20)).Value()
			s := c.Sync(now, name, &Sync{MemberID: v.MemberID, Generation: v.Generation}).Value()
			if v.Err != nil || s.Err != nil {
				t.Errorf("memory %d, group %d: %v, %v", memory, i, v.Err, s.Err)
			}
			ids = append(ids, v.MemberID)
		}
		if got := c.members.kept.Load(); got < 18<<20 {
			t.Errorf("memory %d: %d bytes are counted", memory, got)
		}
		stop()
	}
}

func TestRoom(t *testing.T) {
	for memory, want := range map[int64][kinds]int64{
		0:         {64 << 20, 128 << 20},
		32 << 20:  {16 << 20, 16 << 20},
		256 << 20: {16 << 20, 32 << 20},
		1 << 30:   {64 << 20, 128 << 20},
		1 << 40:   {1 << 30, 1 << 30},
	} {
		o := Options{Memory: memory}
		if got := [kinds]int64{o.room(ofMembers), o.room(ofOffsets)}; got != want {
			t.Errorf("of %d bytes: %d, want %d", memory, got, want)
		}
	}
}
