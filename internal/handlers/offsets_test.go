package handlers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

// offsetOfTime asks ListOffsets about partition 0.
func (p *peer) offsetOfTime(version int16, topic string, ts int64, epoch int32) message.ListOffsetsResponsePartition {
	p.t.Helper()
	req := &message.ListOffsetsRequest{ReplicaID: -1, Topics: []message.ListOffsetsTopic{{Name: topic,
		Partitions: []message.ListOffsetsPartition{{CurrentLeaderEpoch: epoch, Timestamp: ts}}}}}
	return p.ask(kafka.KeyListOffsets, version, req).message.(*message.ListOffsetsResponse).Topics[0].Partitions[0]
}

// TestListOffsets holds traps 24 and 25.
func TestListOffsets(t *testing.T) {
	for _, codec := range []record.Codec{record.None, record.Gzip, record.Zstd} {
		fs := vfs.Memory()
		newRig(t, onDisk(fs)).stop()
		r := newRig(t, onDisk(fs))
		id := r.topic("times", 1).ID
		r.topic("empty", 1)
		p := r.connect(plainListener)
		p.produce(13, "", id, record.NewBuilder(codec).Add(1000, nil, nil).Add(3000, nil, nil).Add(2000, nil, nil).Batch())
		for _, tt := range []struct {
			name    string
			topic   string
			version int16
			ts      int64
			epoch   int32
			want    message.ListOffsetsResponsePartition
		}{
			{"before the first", "times", 11, 500, -1, message.ListOffsetsResponsePartition{Offset: 0, Timestamp: 1000, LeaderEpoch: 1}},
			{"between", "times", 1, 1500, -1, message.ListOffsetsResponsePartition{Offset: 1, Timestamp: 3000, LeaderEpoch: -1}},
			{"the largest", "times", 4, 3000, 1, message.ListOffsetsResponsePartition{Offset: 1, Timestamp: 3000, LeaderEpoch: 1}},
			{"behind it", "times", 11, 3500, -1, message.ListOffsetsResponsePartition{Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"latest", "times", 2, -1, -1, message.ListOffsetsResponsePartition{Offset: 3, Timestamp: -1, LeaderEpoch: -1}},
			{"latest with epoch", "times", 5, -1, -1, message.ListOffsetsResponsePartition{Offset: 3, Timestamp: -1, LeaderEpoch: 1}},
			{"earliest", "times", 7, -2, -1, message.ListOffsetsResponsePartition{Offset: 0, Timestamp: -1, LeaderEpoch: 1}},
			{"largest timestamp", "times", 7, -3, -1, message.ListOffsetsResponsePartition{Offset: 1, Timestamp: 3000, LeaderEpoch: 1}},
			{"largest timestamp, too early", "times", 6, -3, -1, message.ListOffsetsResponsePartition{ErrorCode: kafka.UnsupportedVersion, Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"earliest local", "times", 8, -4, -1, message.ListOffsetsResponsePartition{Offset: 0, Timestamp: -1, LeaderEpoch: 1}},
			{"earliest local, too early", "times", 7, -4, -1, message.ListOffsetsResponsePartition{ErrorCode: kafka.UnsupportedVersion, Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"latest tiered", "times", 9, -5, -1, message.ListOffsetsResponsePartition{Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"latest tiered, too early", "times", 8, -5, -1, message.ListOffsetsResponsePartition{ErrorCode: kafka.UnsupportedVersion, Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"earliest pending", "times", 11, -6, -1, message.ListOffsetsResponsePartition{Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"earliest pending, too early", "times", 10, -6, -1, message.ListOffsetsResponsePartition{ErrorCode: kafka.UnsupportedVersion, Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"no such question", "times", 11, -7, -1, message.ListOffsetsResponsePartition{ErrorCode: kafka.UnsupportedVersion, Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"largest timestamp of nothing", "empty", 7, -3, -1, message.ListOffsetsResponsePartition{Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"earliest of nothing", "empty", 7, -2, -1, message.ListOffsetsResponsePartition{Offset: 0, Timestamp: -1, LeaderEpoch: 1}},
			{"a time of nothing", "empty", 7, 5, -1, message.ListOffsetsResponsePartition{Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"unknown topic", "other", 7, -1, -1, message.ListOffsetsResponsePartition{ErrorCode: kafka.UnknownTopicOrPartition, Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"an epoch that is over", "times", 7, -1, 0, message.ListOffsetsResponsePartition{ErrorCode: kafka.FencedLeaderEpoch, Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
			{"an epoch to come", "times", 7, -1, 2, message.ListOffsetsResponsePartition{ErrorCode: kafka.UnknownLeaderEpoch, Offset: -1, Timestamp: -1, LeaderEpoch: -1}},
		} {
			if diff := cmp.Diff(tt.want, p.offsetOfTime(tt.version, tt.topic, tt.ts, tt.epoch)); diff != "" {
				t.Errorf("%v, %s: %s", codec, tt.name, diff)
			}
		}
	}
}

func TestListOffsetsNamedTwice(t *testing.T) {
	r := newRig(t)
	r.topic("orders", 2)
	part := func(i int32) message.ListOffsetsPartition {
		return message.ListOffsetsPartition{PartitionIndex: i, CurrentLeaderEpoch: -1, Timestamp: -1}
	}
	req := &message.ListOffsetsRequest{Topics: []message.ListOffsetsTopic{
		{Name: "orders", Partitions: []message.ListOffsetsPartition{part(0), part(1)}}, {Name: "orders", Partitions: []message.ListOffsetsPartition{part(0)}}}}
	var got []kafka.Code
	for _, topic := range r.connect(plainListener).ask(kafka.KeyListOffsets, 7, req).message.(*message.ListOffsetsResponse).Topics {
		for _, out := range topic.Partitions {
			got = append(got, out.ErrorCode)
		}
	}
	if diff := cmp.Diff([]kafka.Code{kafka.InvalidRequest, kafka.NoError}, got); diff != "" {
		t.Error(diff)
	}
}

// low is what DeleteRecords says of partition 0.
func (p *peer) deleteRecords(topic string, offset int64) (kafka.Code, int64) {
	p.t.Helper()
	req := &message.DeleteRecordsRequest{Topics: []message.DeleteRecordsTopic{{Name: topic, Partitions: []message.DeleteRecordsPartition{{Offset: offset}}}}}
	got := p.ask(kafka.KeyDeleteRecords, 2, req).message.(*message.DeleteRecordsResponse).Topics[0].Partitions[0]
	return got.ErrorCode, got.LowWatermark
}

// TestDeleteRecords holds trap 65.
func TestDeleteRecords(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	r.topic("__consumer_offsets", 1)
	p := r.connect(plainListener)
	p.produce(13, "", id, batch("a", "b", "c", "d"))
	for _, tt := range []struct {
		topic  string
		offset int64
		code   kafka.Code
		low    int64
	}{
		{"orders", 2, kafka.NoError, 2},
		{"orders", 1, kafka.NoError, 2},
		{"orders", 5, kafka.OffsetOutOfRange, -1},
		{"orders", -2, kafka.OffsetOutOfRange, -1},
		{"other", 0, kafka.UnknownTopicOrPartition, -1},
		{"__consumer_offsets", 0, kafka.InvalidTopic, -1},
		{"orders", -1, kafka.NoError, 4},
	} {
		if code, low := p.deleteRecords(tt.topic, tt.offset); code != tt.code || low != tt.low {
			t.Errorf("%s to %d: %v, %d", tt.topic, tt.offset, code, low)
		}
	}
	if got := p.fetched(13, fetchFrom("", id, 0, 3)); got.ErrorCode != kafka.OffsetOutOfRange {
		t.Errorf("fetch below the start: %v", got.ErrorCode)
	}
	if got := p.offsetOfTime(7, "orders", -2, -1); got.Offset != 4 {
		t.Errorf("earliest is %d", got.Offset)
	}
}

// TestOffsetForLeaderEpoch holds trap 63: an epoch for each start.
func TestOffsetForLeaderEpoch(t *testing.T) {
	fs := vfs.Memory()
	first := newRig(t, onDisk(fs))
	id := first.topic("orders", 1).ID
	first.connect(plainListener).produce(13, "", id, batch("a", "b"))
	first.stop()
	second := newRig(t, onDisk(fs))
	p := second.connect(plainListener)
	p.produce(13, "", id, batch("c"))
	for _, tt := range []struct {
		name           string
		topic          string
		version        int16
		current, asked int32
		want           message.OffsetForLeaderEpochResponsePartition
	}{
		{"the one that ended", "orders", 2, -1, 0, message.OffsetForLeaderEpochResponsePartition{LeaderEpoch: 0, EndOffset: 2}},
		{"the current one", "orders", 4, 1, 1, message.OffsetForLeaderEpochResponsePartition{LeaderEpoch: 1, EndOffset: 3}},
		{"one to come", "orders", 3, -1, 2, message.OffsetForLeaderEpochResponsePartition{LeaderEpoch: -1, EndOffset: -1}},
		{"none", "orders", 4, -1, -1, message.OffsetForLeaderEpochResponsePartition{LeaderEpoch: -1, EndOffset: -1}},
		{"a current one that is over", "orders", 4, 0, 0, message.OffsetForLeaderEpochResponsePartition{ErrorCode: kafka.FencedLeaderEpoch, LeaderEpoch: -1, EndOffset: -1}},
		{"a current one to come", "orders", 4, 2, 0, message.OffsetForLeaderEpochResponsePartition{ErrorCode: kafka.UnknownLeaderEpoch, LeaderEpoch: -1, EndOffset: -1}},
		{"unknown topic", "other", 4, -1, 0, message.OffsetForLeaderEpochResponsePartition{ErrorCode: kafka.UnknownTopicOrPartition, LeaderEpoch: -1, EndOffset: -1}},
	} {
		req := &message.OffsetForLeaderEpochRequest{ReplicaID: -1, Topics: []message.OffsetForLeaderEpochTopic{{Topic: tt.topic,
			Partitions: []message.OffsetForLeaderEpochPartition{{CurrentLeaderEpoch: tt.current, LeaderEpoch: tt.asked}}}}}
		got := p.ask(kafka.KeyOffsetForLeaderEpoch, tt.version, req).message.(*message.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestProducerIDs holds trap 10 and the refusals of InitProducerId.
func TestProducerIDs(t *testing.T) {
	fs := vfs.Memory()
	seen := map[int64]bool{}
	for range 3 {
		r := newRig(t, onDisk(fs))
		p := r.connect(plainListener)
		for i := range producerIDBlock + 2 {
			version := int16(i % 6)
			got := p.ask(kafka.KeyInitProducerID, version, &message.InitProducerIdRequest{ProducerID: -1, ProducerEpoch: -1}).message.(*message.InitProducerIdResponse)
			if got.ErrorCode != kafka.NoError || got.ProducerEpoch != 0 || seen[got.ProducerID] {
				t.Fatalf("v%d: %+v, seen %v", version, got, seen[got.ProducerID])
			}
			seen[got.ProducerID] = true
		}
		r.stop()
	}
	p := newRig(t).connect(plainListener)
	for _, tt := range []struct {
		name string
		req  message.InitProducerIdRequest
		want kafka.Code
	}{
		{"transactional", message.InitProducerIdRequest{TransactionalID: ptr("t"), ProducerID: -1, ProducerEpoch: -1}, kafka.TransactionalIDAuthorizationFailed},
		{"empty transactional id", message.InitProducerIdRequest{TransactionalID: ptr(""), ProducerID: -1, ProducerEpoch: -1}, kafka.InvalidRequest},
		{"id without epoch", message.InitProducerIdRequest{ProducerID: 5, ProducerEpoch: -1}, kafka.InvalidRequest},
		{"epoch without id", message.InitProducerIdRequest{ProducerID: -1, ProducerEpoch: 3}, kafka.InvalidRequest},
		{"id and epoch", message.InitProducerIdRequest{ProducerID: 5, ProducerEpoch: 3}, kafka.NoError},
	} {
		got := p.ask(kafka.KeyInitProducerID, 5, &tt.req).message.(*message.InitProducerIdResponse)
		if got.ErrorCode != tt.want || (tt.want != kafka.NoError) != (got.ProducerID == -1) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// TestSequencesSurviveRestarts holds trap 11.
func TestSequencesSurviveRestarts(t *testing.T) {
	fs := vfs.Memory()
	r := newRig(t, onDisk(fs))
	id := r.topic("orders", 1).ID
	send := func(r *rig, sequence int32) (kafka.Code, int64) {
		b := record.NewBuilder(record.None).Producer(9, 0, sequence).Add(time.Now().UnixMilli(), nil, nil).Batch()
		got := r.connect(plainListener).produce(13, "", id, b)
		return got.ErrorCode, got.BaseOffset
	}
	send(r, 0)
	send(r, 1)
	r.stop()
	r = newRig(t, onDisk(fs))
	if code, base := send(r, 1); code != kafka.NoError || base != 1 {
		t.Errorf("the same again: %v at %d, want NONE at 1", code, base)
	}
	if code, base := send(r, 2); code != kafka.NoError || base != 2 {
		t.Errorf("the next: %v at %d, want NONE at 2", code, base)
	}
}

// TestDataIsAuthorized asks each API without any permission.
func TestDataIsAuthorized(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	r.Authorizer = only{}
	p := r.connect(plainListener)
	got := map[string]kafka.Code{
		"produce":                     p.produce(12, "orders", id, batch("a")).ErrorCode,
		"produce by id":               p.produce(13, "", id, batch("a")).ErrorCode,
		"produce to nothing, by name": p.produce(12, "other", id, batch("a")).ErrorCode,
		"fetch":                       p.fetched(12, fetchFrom("orders", id, 0, 0)).ErrorCode,
		"fetch by id":                 p.fetched(13, fetchFrom("", id, 0, 0)).ErrorCode,
		"list offsets":                p.offsetOfTime(7, "orders", -1, -1).ErrorCode,
		"init producer id":            p.ask(kafka.KeyInitProducerID, 5, &message.InitProducerIdRequest{ProducerID: -1, ProducerEpoch: -1}).message.(*message.InitProducerIdResponse).ErrorCode,
	}
	got["delete records"], _ = p.deleteRecords("orders", 0)
	want := map[string]kafka.Code{
		"produce": kafka.TopicAuthorizationFailed, "produce by id": kafka.TopicAuthorizationFailed, "produce to nothing, by name": kafka.TopicAuthorizationFailed,
		"fetch": kafka.TopicAuthorizationFailed, "fetch by id": kafka.TopicAuthorizationFailed, "list offsets": kafka.TopicAuthorizationFailed,
		"init producer id": kafka.ClusterAuthorizationFailed, "delete records": kafka.TopicAuthorizationFailed,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
