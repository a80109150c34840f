package handlers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// wire is a connection as the server serves it: one request at a time, in order,
// and none while it is muted.
type wire struct {
	peer    *peer
	waiting chan func()
	longest time.Duration // of its mutes
}

func (r *rig) wire(running *sync.WaitGroup) *wire {
	w := &wire{peer: r.connect(plainListener), waiting: make(chan func(), 100)}
	running.Go(func() {
		for serve := range w.waiting {
			serve()
		}
		w.peer.session.End()
	})
	return w
}

// do sends a request at once, and returns when its answer is there.
func (w *wire) do(key kafka.APIKey, version int16, req codec.Message) codec.Message {
	answer := make(chan codec.Message, 1)
	w.waiting <- func() {
		got := w.peer.ask(key, version, req)
		answer <- got.message
		w.longest = max(w.longest, got.muted())
		if got.Mute != nil {
			wait(got.Mute)
		}
	}
	return <-answer
}

// groupLife is a throttled group, and what its clients are like.
type groupLife struct {
	setup   func(*setup)
	entity  []setting // what is limited
	key     string
	batch   int           // bytes
	shared  bool          // heartbeats and fetches go over one connection
	session time.Duration // of every member
	reading time.Duration // what each request costs besides
	span    time.Duration

	longest time.Duration // the most that a mute may last
	delayed time.Duration // the most that a heartbeat may take
	rate    float64       // bytes a second that they get, within a tenth; 0: does not matter
	warned  int           // lines of the log
}

// TestThrottledGroupStaysTogether holds O-b04, in virtual time: three members
// that take no notice of throttle_time_ms read a backlog under a quota that is far
// too small, and no one of them is ever told to join again. A mute is as long as
// the debt of one batch, or of one for each of them: those whose turns have come may
// read in the same moment.
func TestThrottledGroupStaysTogether(t *testing.T) {
	bytes := kafka.ConsumerByteRate
	for name, l := range map[string]groupLife{
		"own connection": {entity: []setting{{theUser, 100e3}}, key: bytes, batch: 16_000, session: 6 * time.Second, span: 5 * time.Minute,
			longest: 5 * time.Second, rate: 100e3},
		"own connection, large batches": {entity: []setting{{theUser, 100e3}}, key: bytes, batch: 1_000_000, session: 6 * time.Second, span: 5 * time.Minute,
			longest: 31 * time.Second, rate: 100e3},
		"one connection": {entity: []setting{{theUser, 100e3}}, key: bytes, batch: 100_000, shared: true, session: 6 * time.Second, span: 5 * time.Minute,
			longest: 5 * time.Second, delayed: 10 * time.Second, rate: 100e3},
		"one connection, throttles above the session": {entity: []setting{{theUser, 50e3}}, key: bytes, batch: 1_000_000, shared: true,
			session: 10 * time.Second, span: 20 * time.Minute, longest: 61 * time.Second, delayed: 122 * time.Second, rate: 50e3, warned: 1},
		"a percent of a thread": {setup: withKafkaModel, entity: []setting{{theUser, 1}}, key: kafka.RequestPercentage, batch: 1000,
			session: 6 * time.Second, reading: 10 * time.Millisecond, span: 5 * time.Minute, longest: time.Second, delayed: time.Second},
		"a percent of a thread, one connection": {setup: withKafkaModel, entity: []setting{{theUser, 1}}, key: kafka.RequestPercentage, batch: 1000, shared: true,
			session: 6 * time.Second, reading: 10 * time.Millisecond, span: 5 * time.Minute, longest: time.Second, delayed: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { l.live(t) })
		})
	}
}

func (l *groupLife) live(t *testing.T) {
	r := newRig(t, func(s *setup) {
		s.patience = time.Second
		if l.setup != nil {
			l.setup(s)
		}
	})
	stop := r.attendGroups()
	defer stop()
	id := r.topic("orders", 1).ID
	fill(t, r, id, 2, l.batch)
	for _, s := range l.entity {
		if l.setup != nil {
			r.set(entry(s.entity, l.key, s.value))
		} else {
			r.limit(0, s.value)
		}
	}
	var running sync.WaitGroup
	members := make([]*throttledMember, 3)
	for i := range members {
		m := &throttledMember{groupLife: l, t: t, group: r.wire(&running)}
		m.fetches = m.group
		if !l.shared {
			m.fetches = r.wire(&running)
		}
		m.group.peer.reading, m.fetches.peer.reading = l.reading, l.reading
		members[i] = m
	}
	generation := joinAll(t, members)
	var alive sync.WaitGroup
	for _, m := range members {
		alive.Go(func() { m.heartbeats(generation) })
		alive.Go(func() { m.consumes(oneBatch(id, l.batch)) })
	}
	alive.Wait()
	for _, m := range members {
		close(m.group.waiting)
		if !l.shared {
			close(m.fetches.waiting)
		}
	}
	running.Wait()
	l.judge(t, r, members)
}

// oneBatch asks for a batch of a size and no more.
func oneBatch(id kafka.TopicID, size int) *message.FetchRequest {
	req := fetchFrom("", id, 0, 0)
	req.MaxBytes = int32(size)
	return req
}

// attendGroups has the groups wake when their time has come, until stop.
func (r *rig) attendGroups() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- r.groups.Run(ctx) }()
	return func() {
		cancel()
		<-ended
	}
}

func (l *groupLife) judge(t *testing.T, r *rig, members []*throttledMember) {
	t.Helper()
	read := 0
	for i, m := range members {
		read += m.read
		if longest := max(m.group.longest, m.fetches.longest); longest > l.longest {
			t.Errorf("member %d was muted for %v, want %v at most", i, longest, l.longest)
		}
		if m.fetches.longest == 0 || m.beats == 0 || m.read == 0 {
			t.Errorf("member %d: the longest mute was %v, %d heartbeats, %d bytes", i, m.fetches.longest, m.beats, m.read)
		}
		if m.delayed > l.delayed+time.Millisecond {
			t.Errorf("a heartbeat of member %d took %v, want %v at most", i, m.delayed, l.delayed)
		}
	}
	if got := float64(read) / l.span.Seconds(); l.rate > 0 && (got < 0.9*l.rate || got > 1.1*l.rate) {
		t.Errorf("they got %.0f bytes/s, want %.0f", got, l.rate)
	}
	if got := r.lines.FilterMessageSnippet("longer than the session timeout").Len(); got != l.warned {
		t.Errorf("%d warnings, want %d", got, l.warned)
	}
}

// throttledMember is a member with its connections.
type throttledMember struct {
	*groupLife
	t              *testing.T
	group, fetches *wire
	id             string
	end            time.Time
	beats, read    int
	delayed        time.Duration // the longest that a heartbeat took
}

// joinAll makes the members a group, and gives its generation.
func joinAll(t *testing.T, members []*throttledMember) int32 {
	t.Helper()
	for _, m := range members {
		first := m.group.do(kafka.KeyJoinGroup, 5, m.join()).(*message.JoinGroupResponse)
		m.id = first.MemberID
	}
	var joining sync.WaitGroup
	answers := make([]*message.JoinGroupResponse, len(members))
	for i, m := range members {
		joining.Go(func() {
			answers[i] = m.group.do(kafka.KeyJoinGroup, 5, m.join()).(*message.JoinGroupResponse)
			sync := &message.SyncGroupRequest{GroupID: "g", GenerationID: answers[i].GenerationID, MemberID: m.id}
			if m.id == answers[i].Leader {
				for _, m := range members {
					sync.Assignments = append(sync.Assignments, message.SyncGroupAssignment{MemberID: m.id, Assignment: []byte("some")})
				}
			}
			if got := m.group.do(kafka.KeySyncGroup, 3, sync).(*message.SyncGroupResponse); got.ErrorCode != 0 {
				t.Errorf("member %d: %s", i, got.ErrorCode)
			}
			m.end = time.Now().Add(m.span)
		})
	}
	joining.Wait()
	if slices.ContainsFunc(answers, func(a *message.JoinGroupResponse) bool { return a.GenerationID != answers[0].GenerationID }) {
		t.Fatalf("generations differ: %+v %+v %+v", answers[0], answers[1], answers[2])
	}
	return answers[0].GenerationID
}

func (m *throttledMember) join() *message.JoinGroupRequest {
	req := reader("g", m.id)
	req.SessionTimeoutMs = int32(m.session.Milliseconds())
	return req
}

// heartbeats says three times a session that the member is alive, one after the
// other, and commits as often.
func (m *throttledMember) heartbeats(generation int32) {
	for time.Now().Before(m.end) {
		began := time.Now()
		got := m.group.do(kafka.KeyHeartbeat, 3, &message.HeartbeatRequest{GroupID: "g", MemberID: m.id, GenerationID: generation}).(*message.HeartbeatResponse)
		m.delayed, m.beats = max(m.delayed, time.Since(began)), m.beats+1
		if got.ErrorCode != 0 {
			m.t.Errorf("heartbeat %d: %s", m.beats, got.ErrorCode)
			return
		}
		commit := &message.OffsetCommitRequest{GroupID: "g", MemberID: m.id, GenerationIDOrMemberEpoch: generation,
			Topics: []message.OffsetCommitTopic{{Name: "orders", Partitions: []message.OffsetCommitPartition{{CommittedOffset: int64(m.beats)}}}}}
		if got := m.group.do(kafka.KeyOffsetCommit, 7, commit).(*message.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; got != 0 {
			m.t.Errorf("commit %d: %s", m.beats, got)
		}
		time.Sleep(time.Until(began.Add(m.session / 3)))
	}
}

// consumes fetches without a pause.
func (m *throttledMember) consumes(req *message.FetchRequest) {
	for time.Now().Before(m.end) {
		got := m.fetches.do(kafka.KeyFetch, 13, req).(*message.FetchResponse)
		for _, topic := range got.Responses {
			m.read += len(topic.Partitions[0].Records.Bytes)
		}
		time.Sleep(100 * time.Microsecond) // a round trip
	}
}

// TestHoldEndsWithTheConnection: a member is not held any longer than the broker
// keeps it from speaking, and of a connection that speaks for very many members
// only the last ones are, and none with very long names.
func TestHoldEndsWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.attendGroups()()
		id := r.topic("orders", 1).ID
		p := r.connect(plainListener)
		first := "" // speaks all the time
		names := ""
		for i := range maxMemberships + 2 {
			req := reader(string(rune('a'+i)), "")
			names += req.GroupID
			id := p.newMember(5, req).MemberID
			p.ask(kafka.KeySyncGroup, 3, &message.SyncGroupRequest{GroupID: req.GroupID, GenerationID: 1, MemberID: id})
			if first == "" {
				first = id
			}
			p.ask(kafka.KeyHeartbeat, 3, &message.HeartbeatRequest{GroupID: "a", GenerationID: 1, MemberID: first})
		}
		p.newMember(5, reader(strings.Repeat("long", maxMemberBytes/4), ""))
		held := "a" + names[len("abc"):]
		r.limit(1, 0)
		muted := p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(100_000)))
		time.Sleep(time.Minute)
		if got, want := r.inGroups(), held; got != want {
			t.Errorf("after a minute of a mute there are members in %q, want %q", got, want)
		}
		muted.Mute.Done() // the peer is gone
		time.Sleep(9 * time.Second)
		if got, want := r.inGroups(), held; got != want {
			t.Errorf("before the session's end there are members in %q, want %q", got, want)
		}
		time.Sleep(2 * time.Second)
		if got := r.inGroups(); got != "" {
			t.Errorf("after the session's end there are members in %q", got)
		}
		if got := p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(100))).Mute; got == nil {
			t.Error("the next throttle does not mute")
		} else if _, held := got.(*heldMute); held {
			t.Error("members that are gone are held")
		}
	})
}

// TestHeldWhateverAMemberSaid: any word of a member makes a connection its own,
// and so does any mute of it hold the member: one before a frame is read too.
func TestHeldWhateverAMemberSaid(t *testing.T) {
	for name, c := range map[string]struct {
		say  func(p *peer, id string) codec.Message
		held string
	}{
		"nothing": {say: func(*peer, string) codec.Message { return nil }},
		"join":    {held: "g", say: func(p *peer, id string) codec.Message { return p.ask(kafka.KeyJoinGroup, 5, reader("g", id)).message }},
		"sync": {held: "g", say: func(p *peer, id string) codec.Message {
			return p.ask(kafka.KeySyncGroup, 3, &message.SyncGroupRequest{GroupID: "g", GenerationID: 1, MemberID: id}).message
		}},
		"heartbeat": {held: "g", say: func(p *peer, id string) codec.Message {
			return p.ask(kafka.KeyHeartbeat, 3, &message.HeartbeatRequest{GroupID: "g", GenerationID: 1, MemberID: id}).message
		}},
		"commit": {held: "g", say: func(p *peer, id string) codec.Message {
			return p.ask(kafka.KeyOffsetCommit, 7, &message.OffsetCommitRequest{GroupID: "g", GenerationIDOrMemberEpoch: 1, MemberID: id,
				Topics: []message.OffsetCommitTopic{{Name: "orders", Partitions: []message.OffsetCommitPartition{{CommittedOffset: 7}}}}}).message
		}},
		"heartbeat of another generation": {say: func(p *peer, id string) codec.Message {
			return p.ask(kafka.KeyHeartbeat, 3, &message.HeartbeatRequest{GroupID: "g", GenerationID: 9, MemberID: id}).message
		}},
	} {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", held before a frame ", before), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					defer r.attendGroups()()
					id := r.topic("orders", 1).ID
					first, p := r.connect(plainListener), r.connect(plainListener)
					m := first.newMember(5, reader("g", "")).MemberID
					first.ask(kafka.KeySyncGroup, 3, &message.SyncGroupRequest{GroupID: "g", GenerationID: 1, MemberID: m})
					c.say(p, m)
					first.ask(kafka.KeySyncGroup, 3, &message.SyncGroupRequest{GroupID: "g", GenerationID: 2, MemberID: m}) // where it joined again
					r.limit(1, 0)
					if before {
						defer r.inDebt(p, id).Done()
					} else {
						defer p.ask(kafka.KeyProduce, 13, produceTo("", id, 0, 1, sized(100_000))).Mute.Done()
					}
					time.Sleep(time.Minute)
					if got := r.inGroups(); got != c.held {
						t.Errorf("after a minute of a mute there are members in %q, want %q", got, c.held)
					}
				})
			})
		}
	}
}

// inDebt is the mute of a connection that would be one too many in a debt.
func (r *rig) inDebt(p *peer, id kafka.TopicID) server.Mute {
	r.t.Helper()
	req := produceTo("", id, 0, 1, sized(100_000))
	r.connect(plainListener).ask(kafka.KeyProduce, 13, req)
	for !r.connect(plainListener).join(req) {
	}
	frame := p.frame(kafka.KeyProduce, 13, req)
	mute, err := p.session.Admit(len(frame), head(frame))
	if err != nil || mute == nil {
		r.t.Fatalf("mute %v, %v", mute, err)
	}
	return mute
}

// inGroups are the names of the groups that have members.
func (r *rig) inGroups() (names string) {
	for _, g := range r.groups.List() {
		if g.State != group.Empty {
			names += g.Name
		}
	}
	return names
}
