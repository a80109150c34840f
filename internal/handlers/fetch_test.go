package handlers

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/storage/vfs"
)

// TestFencedFetchTellsTheLeader: who asks with an epoch that is over is told the
// current one, and where its leader is, from version 16 on.
func TestFencedFetchTellsTheLeader(t *testing.T) {
	fs := vfs.Memory()
	newRig(t, onDisk(fs)).stop()
	r := newRig(t, onDisk(fs))
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	for _, version := range []int16{12, 15, 16, 18} {
		req := fetchFrom("orders", id, 0, 0)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = r.epochOf(t, "orders") - 1
		resp := new(message.FetchResponse)
		p.get(kafka.KeyFetch, version, req, resp)
		leader, endpoints := resp.Responses[0].Partitions[0].CurrentLeader, resp.NodeEndpoints
		if version < 16 {
			if leader != nil || endpoints != nil {
				t.Errorf("v%d: told %v, %v", version, leader, endpoints)
			}
			continue
		}
		if leader == nil || *leader != (message.LeaderIDAndEpoch{LeaderID: 1, LeaderEpoch: r.epochOf(t, "orders")}) {
			t.Errorf("v%d: leader %+v", version, leader)
		}
		if diff := cmp.Diff([]message.NodeEndpoint{{NodeID: 1, Host: "inside", Port: 9092}}, endpoints); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}

func TestFetchCodes(t *testing.T) {
	fs := vfs.Memory()
	newRig(t, onDisk(fs)).stop() // the next start has epoch 1
	r := newRig(t, onDisk(fs))
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	p.produce(13, "", id, batch("a"))
	epoch := func(req *message.FetchRequest, epoch int32) *message.FetchRequest {
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
		return req
	}
	now := r.epochOf(t, "orders")
	for _, tt := range []struct {
		name    string
		version int16
		req     *message.FetchRequest
		want    kafka.Code
	}{
		{"unknown topic", 12, fetchFrom("other", id, 0, 0), kafka.UnknownTopicOrPartition},
		{"unknown partition", 12, fetchFrom("orders", id, 1, 0), kafka.UnknownTopicOrPartition},
		{"unknown partition by id", 13, fetchFrom("", id, 1, 0), kafka.UnknownTopicID},
		{"unknown id", 13, fetchFrom("", kafka.TopicID{9}, 0, 0), kafka.UnknownTopicID},
		{"zero id", 18, fetchFrom("orders", kafka.TopicID{}, 0, 0), kafka.UnknownTopicID},
		{"behind the end", 12, fetchFrom("orders", id, 0, 2), kafka.OffsetOutOfRange},
		{"below the start", 12, fetchFrom("orders", id, 0, -1), kafka.OffsetOutOfRange},
		{"an epoch that is over", 12, epoch(fetchFrom("orders", id, 0, 0), now-1), kafka.FencedLeaderEpoch},
		{"an epoch to come", 12, epoch(fetchFrom("orders", id, 0, 0), now+1), kafka.UnknownLeaderEpoch},
		{"the epoch", 12, epoch(fetchFrom("orders", id, 0, 0), now), kafka.NoError},
		{"the end", 12, fetchFrom("orders", id, 0, 1), kafka.NoError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := r.connect(plainListener).fetched(tt.version, tt.req)
			if got.ErrorCode != tt.want {
				t.Fatalf("got %v", got.ErrorCode)
			}
			if got.Records.Bytes == nil {
				t.Error("the records are null")
			}
			failed := got.ErrorCode != kafka.NoError
			if failed && (len(got.Records.Bytes) > 0 || got.HighWatermark != -1 || got.LastStableOffset != -1 || got.LogStartOffset != -1) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func (r *rig) epochOf(t *testing.T, topic string) int32 {
	t.Helper()
	found, _ := r.Metadata.Image().Topic(topic)
	log, err := r.logs.find(found, 0)
	if err != nil {
		t.Fatal(err)
	}
	return log.Offsets().Epoch
}

func TestFetchHandsOutWholeBatches(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 2).ID
	p := r.connect(plainListener)
	for range 3 {
		p.produce(13, "", id, sized(1000))
	}
	req := produceTo("", id, 1, 1, sized(1000))
	p.ask(kafka.KeyProduce, 13, req)
	fetch := func(total, each int32) (sizes []int) {
		req := fetchFrom("", id, 0, 0)
		req.MaxBytes = total
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
		req.Topics[0].Partitions[1].Partition = 1
		for i := range req.Topics[0].Partitions {
			req.Topics[0].Partitions[i].PartitionMaxBytes = each
		}
		for _, out := range p.ask(kafka.KeyFetch, 13, req).message.(*message.FetchResponse).Responses[0].Partitions {
			sizes = append(sizes, len(out.Records.Bytes))
		}
		return sizes
	}
	for _, tt := range []struct {
		name        string
		total, each int32
		want        []int
	}{
		{"room for all", 1 << 20, 1 << 20, []int{3000, 1000}},
		{"the first batch is larger than both limits", 10, 10, []int{1000, 0}},
		{"nothing asked", 0, 0, []int{1000, 0}},
		{"negative", -1, -1, []int{1000, 0}},
		{"by partition", 1 << 20, 2500, []int{2000, 1000}},
		{"by request", 3500, 1 << 20, []int{3000, 0}},
		{"the second partition gets what is left", 3000, 2000, []int{2000, 1000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, fetch(tt.total, tt.each)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("inside a batch", func(t *testing.T) {
		p.produce(13, "", id, batch("a", "b", "c"))
		got := p.fetched(13, fetchFrom("", id, 0, 5))
		if diff := cmp.Diff([]string{"a", "b", "c"}, values(t, got.Records.Bytes)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("read committed", func(t *testing.T) {
		req := fetchFrom("", id, 0, 0)
		req.IsolationLevel = 1
		got := p.fetched(13, req)
		if got.AbortedTransactions == nil || len(got.AbortedTransactions) > 0 || len(got.Records.Bytes) == 0 {
			t.Errorf("aborted %v, %d bytes", got.AbortedTransactions, len(got.Records.Bytes))
		}
	})
}

// waiting is a fetch of one partition that waits.
func waiting(id kafka.TopicID, offset int64, wait time.Duration, least int32) *message.FetchRequest {
	req := fetchFrom("", id, 0, offset)
	req.MaxWaitMs, req.MinBytes = int32(wait.Milliseconds()), least
	return req
}

func TestFetchWaits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		least int32
		// after does something each second, until it says that it is done.
		after func(t *testing.T, r *rig, id kafka.TopicID, second int)
		want  time.Duration
		bytes int
		code  kafka.Code
	}{
		{name: "until the wait is over", least: 1, want: 5 * time.Second},
		{name: "until something comes", least: 1, want: 2 * time.Second, bytes: 600,
			after: func(t *testing.T, r *rig, id kafka.TopicID, second int) {
				if second == 2 {
					r.connect(plainListener).produce(13, "", id, sized(600))
				}
			}},
		{name: "until enough comes", least: 1000, want: 2 * time.Second, bytes: 1200,
			after: func(t *testing.T, r *rig, id kafka.TopicID, second int) {
				r.connect(plainListener).produce(13, "", id, sized(600))
			}},
		{name: "until the wait is over, with too little", least: 1000, want: 5 * time.Second, bytes: 600,
			after: func(t *testing.T, r *rig, id kafka.TopicID, second int) {
				if second == 1 {
					r.connect(plainListener).produce(13, "", id, sized(600))
				}
			}},
		{name: "until the topic is deleted", least: 1, want: 3 * time.Second, code: kafka.UnknownTopicID,
			after: func(t *testing.T, r *rig, id kafka.TopicID, second int) {
				if second == 3 {
					r.commit(metadata.TopicDeleted{ID: id})
				}
			}},
		{name: "not at all", least: 0, want: 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				id := r.topic("orders", 1).ID
				began, done := time.Now(), make(chan message.FetchResponsePartition)
				go func() { done <- r.connect(plainListener).fetched(13, waiting(id, 0, 5*time.Second, tt.least)) }()
				for second := 1; ; second++ {
					select {
					case got := <-done:
						if took := time.Since(began); took != tt.want || len(got.Records.Bytes) != tt.bytes || got.ErrorCode != tt.code {
							t.Errorf("after %v: %d bytes, %v", took, len(got.Records.Bytes), got.ErrorCode)
						}
						return
					case <-time.After(time.Second):
						if tt.after != nil {
							tt.after(t, r, id, second)
						}
					}
				}
			})
		})
	}
}

func TestFetchSessionCodes(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	p.produce(13, "", id, batch("a"))
	ask := func(version int16, session, epoch int32) *message.FetchResponse {
		req := fetchFrom("orders", id, 0, 0)
		req.SessionID, req.SessionEpoch = session, epoch
		return p.ask(kafka.KeyFetch, version, req).message.(*message.FetchResponse)
	}
	open := ask(13, 0, 0).SessionID
	if open == 0 {
		t.Fatal("no session")
	}
	for _, tt := range []struct {
		name           string
		version        int16
		session, epoch int32
		want           kafka.Code
		topics         int
	}{
		{"kafka-go's", 10, -1, -1, kafka.NoError, 1},
		{"librdkafka's", 11, 0, -1, kafka.NoError, 1},
		{"unknown", 13, open + 1, 5, kafka.FetchSessionIDNotFound, 0},
		{"none, with an epoch", 13, 0, 1, kafka.FetchSessionIDNotFound, 0},
		{"wrong epoch", 13, open, 2, kafka.InvalidFetchSessionEpoch, 0},
		{"below version 13", 12, open, 1, kafka.FetchSessionTopicIDError, 0},
		{"right", 13, open, 1, kafka.NoError, 1},
		{"right, repeated", 13, open, 1, kafka.InvalidFetchSessionEpoch, 0},
		{"the next", 13, open, 2, kafka.NoError, 1},
		{"ended", 13, open, -1, kafka.NoError, 1},
		{"gone", 13, open, 3, kafka.FetchSessionIDNotFound, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ask(tt.version, tt.session, tt.epoch)
			if got.ErrorCode != tt.want || len(got.Responses) != tt.topics {
				t.Errorf("got %v with %d topics", got.ErrorCode, len(got.Responses))
			}
			if failed := tt.want != kafka.NoError; failed && got.SessionID != 0 {
				t.Errorf("session %d in an error", got.SessionID)
			}
		})
	}
}

// TestFetchSessionTellsWhatChanged holds trap 21.
func TestFetchSessionTellsWhatChanged(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 3).ID
	p := r.connect(plainListener)
	req := fetchFrom("", id, 0, 0)
	req.SessionEpoch = 0
	for i := int32(1); i < 3; i++ {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
		req.Topics[0].Partitions[i].Partition = i
	}
	var session int32
	// next asks in the session and gives the partitions told, in order.
	next := func(req *message.FetchRequest) (told []int32) {
		t.Helper()
		req.SessionID = session
		resp := p.ask(kafka.KeyFetch, 13, req).message.(*message.FetchResponse)
		if resp.ErrorCode != kafka.NoError {
			t.Fatal(resp.ErrorCode)
		}
		session = resp.SessionID
		for _, topic := range resp.Responses {
			for _, out := range topic.Partitions {
				told = append(told, out.PartitionIndex)
			}
		}
		return told
	}
	expect := func(what string, got []int32, want ...int32) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	append1 := func(partition int32) {
		p.ask(kafka.KeyProduce, 13, produceTo("", id, partition, 1, batch("a")))
	}
	change := func(epoch int32, partitions ...message.FetchPartition) *message.FetchRequest {
		out := &message.FetchRequest{MaxBytes: 1 << 20, SessionEpoch: epoch}
		if len(partitions) > 0 {
			out.Topics = []message.FetchTopic{{TopicID: id, Partitions: partitions}}
		}
		return out
	}
	at := func(partition int32, offset int64) message.FetchPartition {
		return message.FetchPartition{Partition: partition, CurrentLeaderEpoch: -1, FetchOffset: offset, PartitionMaxBytes: 1 << 20}
	}
	expect("first", next(req), 0, 1, 2)
	expect("nothing new", next(change(1)))
	append1(1)
	expect("records in one", next(change(2)), 1)
	expect("not moved on", next(change(3)), 1)
	expect("moved on", next(change(4, at(1, 1))))
	append1(0)
	append1(1)
	expect("the one that was served comes last", next(change(5)), 0, 1)
	append1(2)
	expect("and so on", next(change(6)), 2, 0, 1)
	forget := change(7, at(0, 1))
	forget.ForgottenTopicsData = []message.FetchForgottenTopic{{TopicID: id, Partitions: []int32{1, 2, 5}}}
	expect("forgotten", next(forget))
	append1(2)
	append1(0)
	expect("one is left", next(change(8)), 0)
	r.commit(metadata.TopicDeleted{ID: id})
	resp := p.ask(kafka.KeyFetch, 13, &message.FetchRequest{MaxBytes: 1 << 20, SessionID: session, SessionEpoch: 9}).message.(*message.FetchResponse)
	if got := resp.Responses[0].Partitions[0].ErrorCode; got != kafka.UnknownTopicID {
		t.Errorf("deleted topic: %v", got)
	}
	last := &message.FetchRequest{MaxBytes: 1 << 20, SessionID: session, SessionEpoch: 10,
		ForgottenTopicsData: []message.FetchForgottenTopic{{TopicID: id, Partitions: []int32{0}}}}
	if resp := p.ask(kafka.KeyFetch, 13, last).message.(*message.FetchResponse); resp.SessionID != 0 || len(resp.Responses) > 0 {
		t.Errorf("an empty session lives on: %+v", resp)
	}
	if n := len(r.sessions.byID) + r.sessions.partitions; n != 0 {
		t.Errorf("%d sessions and partitions are left", n)
	}
}

func TestFetchSessionEpochWraps(t *testing.T) {
	if got := nextEpoch(1<<31 - 1); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

func TestFetchSessionsAreBounded(t *testing.T) {
	s := newFetchSessions()
	now := time.Unix(1000, 0)
	one := []fetchPosition{{fetchName: fetchName{topic: "t"}}}
	for range maxFetchSessions {
		if s.create(one, false, now) == 0 {
			t.Fatal("no session")
		}
		now = now.Add(time.Millisecond)
	}
	if id := s.create(one, false, now); id != 0 {
		t.Error("more sessions than allowed")
	}
	if id := s.create(one, false, now.Add(fetchSessionIdle)); id == 0 || len(s.byID) != maxFetchSessions || s.partitions != maxFetchSessions {
		t.Errorf("an idle session makes no room: %d sessions, %d partitions", len(s.byID), s.partitions)
	}
	many := make([]fetchPosition, maxFetchSessionPartitions)
	if id := newFetchSessions().create(many, false, now); id == 0 {
		t.Error("no session for all partitions there may be")
	}
	if id := s.create(many, false, now.Add(time.Hour)); id != 0 {
		t.Error("more partitions than allowed")
	}
}

// TestFetchSessionsKeepNoInventedNames: of what is not there, or may not be read, there
// is no session; one that is told of such ends, and the client begins anew.
func TestFetchSessionsKeepNoInventedNames(t *testing.T) {
	r := newRig(t)
	r.topic("orders", 2)
	p := r.connect(plainListener)
	ask := func(session, epoch int32, topic string, partition int32) *message.FetchResponse {
		req := fetchFrom(topic, kafka.TopicID{}, partition, 0)
		req.SessionID, req.SessionEpoch, req.MaxWaitMs = session, epoch, 0
		return p.ask(kafka.KeyFetch, 12, req).message.(*message.FetchResponse)
	}
	if got := ask(0, firstRequest, strings.Repeat("x", 30_000), 0); got.SessionID != 0 || got.Responses[0].Partitions[0].ErrorCode == kafka.NoError {
		t.Errorf("a topic that is not there: session %d", got.SessionID)
	}
	if got := ask(0, firstRequest, "orders", 2); got.SessionID != 0 {
		t.Errorf("a partition that is not there: session %d", got.SessionID)
	}
	open := ask(0, firstRequest, "orders", 0).SessionID
	if got := ask(open, 1, "orders", 1); got.ErrorCode != kafka.NoError {
		t.Fatalf("a partition that is there: %s", got.ErrorCode)
	}
	if got := ask(open, 2, "nothing", 0); got.SessionID != 0 || len(got.Responses) != 2 || got.Responses[1].Partitions[0].ErrorCode != kafka.UnknownTopicOrPartition {
		t.Errorf("one that is not: %+v", got)
	}
	if s := r.sessions; ask(open, 3, "orders", 0).ErrorCode != kafka.FetchSessionIDNotFound || len(s.byID) != 0 || s.partitions != 0 {
		t.Errorf("%d sessions of %d partitions are left", len(s.byID), s.partitions)
	}
}

func TestFetchEndsWithItsPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.topic("orders", 1).ID
		p := r.connect(plainListener)
		ctx, cancel := context.WithCancel(context.Background())
		p.ctx = ctx
		failed := make(chan error)
		go func() {
			_, err := p.try(kafka.KeyFetch, 13, waiting(id, 0, time.Hour, 1))
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; err == nil {
			t.Error("a fetch whose peer is gone is answered")
		}
	})
}

// TestFetchAcrossSegments: what lies behind the end of a segment is worth an
// answer at once, since a read ends there.
func TestFetchAcrossSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.topic("orders", 1, "segment.bytes", "1048576").ID
		for range 3 {
			fill(t, r, id, 1, 700_000)
		}
		began := time.Now()
		got := r.connect(plainListener).fetched(13, waiting(id, 0, 5*time.Second, 1<<20))
		if took := time.Since(began); took > 0 || len(got.Records.Bytes) > 700_000 {
			t.Errorf("after %v: %d bytes", took, len(got.Records.Bytes))
		}
	})
}

func TestSequentialReader(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	for range 50 {
		p.produce(13, "", id, record.NewBuilder(record.LZ4).Add(time.Now().UnixMilli(), nil, []byte("a")).Add(time.Now().UnixMilli(), nil, []byte("b")).Batch())
	}
	var got int
	for offset := int64(0); offset < 100; {
		req := fetchFrom("", id, 0, offset)
		req.Topics[0].Partitions[0].PartitionMaxBytes = 500
		n := len(values(t, p.fetched(13, req).Records.Bytes))
		got, offset = got+n, offset+int64(n)
	}
	if got != 100 {
		t.Errorf("read %d records", got)
	}
}
