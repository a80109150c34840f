package broker_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

func config(name, value string) message.CreateTopicsConfig {
	return message.CreateTopicsConfig{Name: name, Value: &value}
}

// fetchOne fetches one partition without a session and gives its answer.
func (p *peer) fetchOne(version int16, req *message.FetchRequest) message.FetchResponsePartition {
	p.t.Helper()
	return call[message.FetchResponse](p, version, req).Responses[0].Partitions[0]
}

// Null and empty are two things, and headers keep their order and doubles.
func TestRecordsComeBackAsTheyWere(t *testing.T) {
	b := brokertest.Start(t)
	var many []kgo.RecordHeader
	for i := range 200 {
		many = append(many, kgo.RecordHeader{Key: "h", Value: []byte{byte(i)}})
	}
	want := []*kgo.Record{
		{Topic: "t", Key: nil, Value: nil},
		{Topic: "t", Key: []byte{}, Value: []byte{}},
		{Topic: "t", Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "", Value: nil}, {Key: "a", Value: []byte{}}, {Key: "a", Value: []byte("1")}}},
		{Topic: "t", Value: []byte("v"), Headers: many},
	}
	client := newClient(t, b.Plain, kgo.ConsumeTopics("t"))
	for _, r := range want {
		sent := *r
		if err := client.ProduceSync(t.Context(), &sent).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for read := 0; read < len(want); {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			w := want[read]
			got := kgo.Record{Topic: "t", Key: r.Key, Value: r.Value, Headers: r.Headers}
			if diff := cmp.Diff(w.Headers, got.Headers); diff != "" && len(w.Headers)+len(got.Headers) > 0 {
				t.Errorf("record %d: %s", read, diff)
			}
			if (w.Key == nil) != (r.Key == nil) || (w.Value == nil) != (r.Value == nil) || !slices.Equal(w.Key, r.Key) || !slices.Equal(w.Value, r.Value) {
				t.Errorf("record %d: got %q %q, want %q %q", read, r.Key, r.Value, w.Key, w.Value)
			}
			read++
		})
	}
}

// Whatever leader epoch a producer writes is replaced by the broker's.
func TestLeaderEpochIsTheBrokers(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	for _, epoch := range []int32{-1, 0, 5, 1<<31 - 1} {
		b := batch(10)
		b.Stamp(0, epoch)
		p.mustProduce("t", b)
	}
	all := batches(t, p.fetchOne(12, fetchRequest("t", 0)).Records.Bytes)
	for i, b := range all {
		if b.LeaderEpoch() != all[0].LeaderEpoch() || b.BaseOffset() != int64(i) {
			t.Errorf("batch %d: epoch %d, offset %d", i, b.LeaderEpoch(), b.BaseOffset())
		}
	}
}

// The first batch is whole whatever the limits say, and the one that holds the
// offset is whole too.
func TestFirstBatchIsWhole(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	b := record.NewBuilder(record.None)
	for range 9 {
		b.Add(time.Now().UnixMilli(), nil, make([]byte, 100_000))
	}
	p.mustProduce("t", b.Batch())
	p.mustProduce("t", batch(10))
	req := fetchRequest("t", 3)
	req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 1000, 1000
	got := batches(t, p.fetchOne(12, req).Records.Bytes)
	if len(got) != 1 || got[0].BaseOffset() != 0 || got[0].Count() != 9 {
		t.Fatalf("got %d batches", len(got))
	}
	req.Topics[0].Partitions[0].FetchOffset = 9
	if got := batches(t, p.fetchOne(12, req).Records.Bytes); len(got) != 1 || got[0].BaseOffset() != 9 {
		t.Errorf("behind it: %d batches", len(got))
	}
}

// A fetch waits for its bytes, no longer than it says, and then takes what
// there is.
func TestFetchWaits(t *testing.T) {
	b := brokertest.Start(t)
	p, producer := dial(t, b.Plain), dial(t, b.Plain)
	p.newTopic("t")
	waiting := func(least int32, limit time.Duration) *message.FetchRequest {
		req := fetchRequest("t", 0)
		req.MinBytes, req.MaxWaitMs = least, int32(limit.Milliseconds())
		return req
	}
	sent := time.Now()
	if got := p.fetchOne(12, waiting(1, 200*ms)); len(got.Records.Bytes) != 0 || time.Since(sent) < 200*ms {
		t.Errorf("nothing to read: %d bytes after %v", len(got.Records.Bytes), time.Since(sent))
	}
	p.send(12, waiting(100_000, 10*time.Minute))
	producer.mustProduce("t", batch(60_000))
	producer.mustProduce("t", batch(60_000))
	var resp message.FetchResponse
	p.read(&resp)
	if n := len(batches(t, resp.Responses[0].Partitions[0].Records.Bytes)); n != 2 {
		t.Errorf("woke with %d batches, want 2", n)
	}
	sent = time.Now()
	if got := p.fetchOne(12, waiting(1<<20, 200*ms)); len(batches(t, got.Records.Bytes)) != 2 || time.Since(sent) < 200*ms {
		t.Errorf("too little to read: %d bytes after %v", len(got.Records.Bytes), time.Since(sent))
	}
}

// Ids and epochs of sessions as clients use them.
func TestFetchSessions(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	p.mustProduce("t", batch(10))
	ask := func(id, epoch int32, full bool) *message.FetchResponse {
		req := fetchRequest("t", 0)
		req.SessionID, req.SessionEpoch = id, epoch
		if !full {
			req.Topics, req.MinBytes = nil, 0
		}
		return call[message.FetchResponse](p, 12, req)
	}
	for _, id := range []int32{-1, 0, 77} {
		if resp := ask(id, -1, true); resp.ErrorCode != 0 || resp.SessionID != 0 || len(resp.Responses) != 1 {
			t.Errorf("no session, id %d: %+v", id, resp)
		}
	}
	if resp := ask(4711, 5, false); resp.ErrorCode != kafka.FetchSessionIDNotFound {
		t.Errorf("an unknown id: %s", resp.ErrorCode)
	}
	opened := ask(0, 0, true)
	if opened.SessionID == 0 || len(opened.Responses) != 1 {
		t.Fatalf("a new session: %+v", opened)
	}
	if resp := ask(opened.SessionID, 5, false); resp.ErrorCode != kafka.InvalidFetchSessionEpoch {
		t.Errorf("a wrong epoch: %s", resp.ErrorCode)
	}
	if resp := ask(opened.SessionID, 1, false); resp.ErrorCode != 0 || resp.SessionID != opened.SessionID {
		t.Errorf("the next epoch: %+v", resp)
	}
}

// Who opens sessions and never uses them pushes nobody out.
func TestSessionsAreBounded(t *testing.T) {
	b := brokertest.Start(t)
	p, wasteful := dial(t, b.Plain), dial(t, b.Plain)
	p.newTopic("t")
	req := fetchRequest("t", 0)
	req.SessionEpoch, req.MinBytes = 0, 0
	id := call[message.FetchResponse](p, 12, req).SessionID
	without := 0
	for range 1500 {
		if call[message.FetchResponse](wasteful, 12, req).SessionID == 0 {
			without++
		}
	}
	if without < 400 {
		t.Errorf("%d of 1500 sessions were refused", without)
	}
	next := &message.FetchRequest{ReplicaID: -1, MaxBytes: 1 << 20, SessionID: id, SessionEpoch: 1}
	if resp := call[message.FetchResponse](p, 12, next); resp.ErrorCode != 0 || resp.SessionID != id {
		t.Errorf("the session in use: %s, id %d", resp.ErrorCode, resp.SessionID)
	}
}

// A topic that is made again is another one.
func TestTopicsAreTheirIDs(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	old := p.newTopic("t")
	p.mustProduce("t", batch(10))
	deleted := call[message.DeleteTopicsResponse](p, 6, &message.DeleteTopicsRequest{
		TimeoutMs: 30_000, Topics: []message.DeleteTopicsTopic{{TopicID: old}},
	})
	if got := deleted.Responses[0]; got.ErrorCode != 0 || deref(got.Name) != "t" {
		t.Fatalf("delete by id: %+v", got)
	}
	now := p.newTopic("t")
	if now == old || now.IsZero() || topicID(p, "t") != now {
		t.Errorf("the id was %s and is %s", old, now)
	}
	for id, want := range map[kafka.TopicID]kafka.Code{old: kafka.UnknownTopicID, now: kafka.NoError} {
		req := fetchRequest("", 0)
		req.Topics[0].TopicID = id
		got := p.fetchOne(13, req)
		if got.ErrorCode != want || len(got.Records.Bytes) != 0 {
			t.Errorf("fetch by %s: %s, %d bytes", id, got.ErrorCode, len(got.Records.Bytes))
		}
	}
}

// What a topic's config asks of records.
func TestTopicConfigsBindRecords(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("small", config("max.message.bytes", "1000"))
	p.newTopic("stamped", config("message.timestamp.type", "LogAppendTime"))
	p.newTopic("strict")
	if answer, _ := p.produce("small", batch(1000)); answer.ErrorCode != kafka.MessageTooLarge || answer.BaseOffset != -1 {
		t.Errorf("a batch above the topic's limit: %s", answer.ErrorCode)
	}
	before := time.Now().UnixMilli()
	answer, _ := p.produce("stamped", record.NewBuilder(record.Zstd).Add(1, nil, []byte("v")).Batch())
	if answer.ErrorCode != 0 || answer.LogAppendTimeMs < before {
		t.Errorf("append time: %+v", answer)
	}
	stamped := batches(t, p.fetchOne(12, fetchRequest("stamped", 0)).Records.Bytes)[0]
	if !stamped.AppendTime() || stamped.MaxTimestamp() != answer.LogAppendTimeMs {
		t.Errorf("append time %v, %d", stamped.AppendTime(), stamped.MaxTimestamp())
	}
	late := record.NewBuilder(record.None).Add(before, nil, nil).Add(before+2*time.Hour.Milliseconds(), nil, nil).Batch()
	answer, _ = p.produce("strict", late)
	if answer.ErrorCode != kafka.InvalidTimestamp || len(answer.RecordErrors) != 1 || answer.RecordErrors[0].BatchIndex != 1 {
		t.Errorf("a record of the future: %+v", answer)
	}
	if got := endOffset(p, "strict"); got != 0 {
		t.Errorf("%d records were stored", got)
	}
	compacted := call[message.CreateTopicsResponse](p, 7, &message.CreateTopicsRequest{TimeoutMs: 30_000, Topics: []message.CreateTopicsTopic{{
		Name: "compacted", NumPartitions: 1, ReplicationFactor: 1, Configs: []message.CreateTopicsConfig{config("cleanup.policy", "compact")},
	}}})
	if got := compacted.Topics[0].ErrorCode; got != kafka.InvalidConfig { // until there is compaction
		t.Errorf("a compacted topic: %s", got)
	}
}

// Partitions are led by this broker alone.
func TestReplicationFactors(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	for factor, want := range map[int16]kafka.Code{-1: kafka.NoError, 1: kafka.NoError, 0: kafka.InvalidReplicationFactor, 3: kafka.InvalidReplicationFactor} {
		resp := call[message.CreateTopicsResponse](p, 7, &message.CreateTopicsRequest{TimeoutMs: 30_000, ValidateOnly: true,
			Topics: []message.CreateTopicsTopic{{Name: "t", NumPartitions: -1, ReplicationFactor: factor}}})
		if got := resp.Topics[0].ErrorCode; got != want {
			t.Errorf("factor %d: %s, want %s", factor, got, want)
		}
	}
}

// Topics are made for who asks for them, unless that is turned off.
func TestTopicsAreMadeOnDemand(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false} {
		b := brokertest.Start(t, func(c *broker.Config) { c.Properties["auto.create.topics.enable"] = value })
		client := newClient(t, b.Plain, kgo.RecordRetries(3), kgo.UnknownTopicRetries(1))
		err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "new", Value: []byte("v")}).FirstErr()
		if want && err != nil || !want && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			t.Errorf("auto.create.topics.enable=%s: %v", value, err)
		}
		polite := call[message.MetadataResponse](dial(t, b.Plain), 12, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{Name: ptr("other")}}})
		if got := polite.Topics[0].ErrorCode; got != kafka.UnknownTopicOrPartition {
			t.Errorf("who does not want a topic made gets %s", got)
		}
	}
}

// DeleteRecords moves the start, to the end when asked so, and not beyond.
func TestDeleteRecords(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	appendMany(t, p, "t", 5, 10)
	for _, c := range []struct {
		to, low int64
		code    kafka.Code
	}{{3, 3, kafka.NoError}, {1, 3, kafka.NoError}, {6, -1, kafka.OffsetOutOfRange}, {-1, 5, kafka.NoError}} {
		got := call[message.DeleteRecordsResponse](p, 2, &message.DeleteRecordsRequest{TimeoutMs: 30_000, Topics: []message.DeleteRecordsTopic{{
			Name: "t", Partitions: []message.DeleteRecordsPartition{{Offset: c.to}},
		}}}).Topics[0].Partitions[0]
		if got.ErrorCode != c.code || got.LowWatermark != c.low {
			t.Errorf("to %d: got %+v", c.to, got)
		}
	}
}

// Each listener tells its own address.
func TestListenersTellTheirAddress(t *testing.T) {
	b, _ := startWithFile(t, credentials(t, alice))
	for address, p := range map[string]*peer{b.Plain: dial(t, b.Plain), b.SASL: dialAs(t, b.SASL, "alice", "a-secret")} {
		meta := call[message.MetadataResponse](p, 12, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{}})
		cluster := call[message.DescribeClusterResponse](p, 0, &message.DescribeClusterRequest{})
		if got := hostPort(meta.Brokers[0].Host, meta.Brokers[0].Port); got != address || meta.ControllerID != 1 {
			t.Errorf("metadata tells %s at %s", got, address)
		}
		if got := hostPort(cluster.Brokers[0].Host, cluster.Brokers[0].Port); got != address || cluster.ClusterID != b.ClusterID() {
			t.Errorf("the cluster is told as %s at %s", got, address)
		}
	}
}
