package handlers

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

const recordedDir = "/tmp/kraft-combined-logs"

func inRecordedDir(s *setup) { s.LogDir = recordedDir }

// TestRecordedTools: what tools asked Apache Kafka 4.4.0 gets the same answer
// here, on topics of the same names.
func TestRecordedTools(t *testing.T) {
	r := newRig(t, inRecordedDir)
	for _, topic := range []string{"t400-a", "t440-a", "raw-t", "sw0-a", "sw1-a", "sw2-a", "sw3-a", "sw4-a", "sw5-a", "d400-ja", "d400-jb", "d440-ja",
		"kgo1-a", "kgo1-b", "kgs-a", "sa280-a", "sa400-a", "ptf-a"} {
		partitions := map[string]int32{"kgo1-a": 3, "d400-ja": 2, "d440-ja": 2, "raw-t": 2, "t440-a": 2, "t400-a": 2, "kgo1-b": 2, "sa280-a": 2, "sa400-a": 2}
		r.topic(topic, max(1, partitions[topic]))
	}
	p := r.connect(plainListener)
	for _, name := range []string{"34.2-1", "43.0-1", "43.0-2", "43.1-2", "43.1-3", "43.2-1", "43.2-2", "43.2-4", "43.2-5", "43.2-6", "43.2-9", "43.2-10",
		"45.0-1", "45.0-2", "45.0-3", "45.0-4", "45.0-5", "45.1-1", "45.1-2", "45.1-3", "46.0-1", "46.0-2", "46.0-3", "46.0-4", "46.0-5", "46.0-6", "46.0-7", "46.0-8",
		"57.0-1", "57.1-1", "57.2-3", "61.0-5", "74.1-3", "74.1-6", "74.1-8"} {
		compareRecorded(t, p, name)
	}
	for _, name := range []string{"75.0-1", "75.0-3", "75.0-4", "75.0-5"} {
		compareRecorded(t, p, name, "TopicID", "LeaderEpoch")
	}
	for _, name := range []string{"35.1-1", "35.2-1", "35.3-1", "35.4-1", "35.4-3", "35.5-1", "35.5-2", "35.5-3", "35.5-4", "35.5-5"} {
		compareRecorded(t, p, name, "PartitionSize", "TotalBytes", "UsableBytes")
	}
	for _, name := range []string{"55.2-1", "55.2-2"} {
		compareRecorded(t, p, name, "LeaderEpoch", "HighWatermark", "LogEndOffset", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Nodes")
	}
	denied := newRig(t, withAuthorizer()).connect(plainListener)
	for _, name := range []string{"35.4-2", "75.0-2"} {
		compareRecorded(t, denied, name)
	}
}

func pageOf(p *peer, limit int32, cursor *message.DescribeTopicPartitionsCursor, topics ...string) *message.DescribeTopicPartitionsResponse {
	req := &message.DescribeTopicPartitionsRequest{ResponsePartitionLimit: limit, Cursor: cursor}
	for _, name := range topics {
		req.Topics = append(req.Topics, message.DescribeTopicPartitionsTopic{Name: name})
	}
	resp := new(message.DescribeTopicPartitionsResponse)
	p.get(kafka.KeyDescribeTopicPartitions, 0, req, resp)
	return resp
}

// TestPages: however small the pages are, together they hold every partition
// once, in order.
func TestPages(t *testing.T) {
	r := newRig(t)
	want := []string{}
	for _, name := range []string{"a", "b", "c"} {
		topic := r.topic(name, int32(len(want)+2))
		for i := range topic.Partitions {
			want = append(want, fmt.Sprint(name, i))
		}
	}
	p := r.connect(plainListener)
	for _, limit := range []int32{-1, 1, 2, 3, 4, 7, 2000, 1 << 30} {
		var got []string
		var cursor *message.DescribeTopicPartitionsCursor
		for {
			page := pageOf(p, limit, cursor)
			n := 0
			for _, topic := range page.Topics {
				n += len(topic.Partitions)
				for _, partition := range topic.Partitions {
					got = append(got, fmt.Sprint(*topic.Name, partition.PartitionIndex))
				}
			}
			if n > max(1, int(limit)) || n == 0 {
				t.Fatalf("a page of %d has %d partitions", limit, n)
			}
			if cursor = page.NextCursor; cursor == nil {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d: %s", limit, diff)
		}
	}
}

func TestCursors(t *testing.T) {
	r := newRig(t)
	r.topic("b", 2)
	p := r.connect(plainListener)
	for _, c := range []struct {
		name   string
		cursor message.DescribeTopicPartitionsCursor
		topics []string
		want   []string
	}{
		{"below the first", message.DescribeTopicPartitionsCursor{TopicName: "b", PartitionIndex: -1}, []string{"b"}, []string{"b 42 0"}},
		{"of another topic", message.DescribeTopicPartitionsCursor{TopicName: "x"}, []string{"b", "c"}, []string{"b 42 0", "c 42 0"}},
		{"of a deleted topic", message.DescribeTopicPartitionsCursor{TopicName: "a", PartitionIndex: 1}, nil, []string{"b 0 2"}},
		{"behind the last", message.DescribeTopicPartitionsCursor{TopicName: "b", PartitionIndex: 9}, nil, []string{"b 0 0"}},
		{"far behind the last", message.DescribeTopicPartitionsCursor{TopicName: "b", PartitionIndex: math.MaxInt32}, nil, []string{"b 0 0"}},
		{"behind all", message.DescribeTopicPartitionsCursor{TopicName: "z"}, nil, nil},
		{"twice and unknown", message.DescribeTopicPartitionsCursor{TopicName: "b", PartitionIndex: 1}, []string{"c", "b", "a b", "b"}, []string{"b 0 1", "c 3 0"}},
	} {
		var got []string
		page := pageOf(p, 2000, &c.cursor, c.topics...)
		if page.NextCursor != nil {
			t.Errorf("%s: goes on at %+v", c.name, *page.NextCursor)
		}
		for _, topic := range page.Topics {
			got = append(got, fmt.Sprint(*topic.Name, " ", int(topic.ErrorCode), " ", len(topic.Partitions)))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if got := pageOf(p, 2000, nil, "a b").Topics[0].ErrorCode; got != kafka.InvalidTopic {
		t.Errorf("a name that cannot be: %v", got)
	}
}

// producedBy is a batch of one record.
func producedBy(id int64, epoch int16, sequence int32, at time.Time) record.Batch {
	return record.NewBuilder(record.None).Producer(id, epoch, sequence).Add(at.UnixMilli(), nil, []byte("x")).Batch()
}

func TestDescribeProducers(t *testing.T) {
	r := newRig(t)
	topic := r.topic("t", 2)
	log, err := r.logs.find(topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	for _, id := range []int64{9, 7} {
		if _, err := log.Append(producedBy(id, 3, 5, at), at); err != nil {
			t.Fatal(err)
		}
	}
	resp := new(message.DescribeProducersResponse)
	r.connect(plainListener).get(kafka.KeyDescribeProducers, 0, &message.DescribeProducersRequest{Topics: []message.DescribeProducersTopic{
		{Name: "t", PartitionIndexes: []int32{0, 1, 2}}, {Name: "none", PartitionIndexes: []int32{0}}}}, resp)
	var got []string
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			got = append(got, fmt.Sprint(topic.Name, p.PartitionIndex, " ", int(p.ErrorCode)))
			for _, known := range p.ActiveProducers {
				got = append(got, fmt.Sprint(known.ProducerID, known.ProducerEpoch, known.LastSequence, known.LastTimestamp == at.UnixMilli(), known.CurrentTxnStartOffset))
			}
		}
	}
	want := []string{"t0 0", "7 3 5 true -1", "9 3 5 true -1", "t1 0", "t2 3", "none0 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLogDirs(t *testing.T) {
	r := newRig(t, inRecordedDir)
	topic := r.topic("t", 2)
	log, err := r.logs.find(topic, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(producedBy(1, 0, 0, time.Now()), time.Now()); err != nil {
		t.Fatal(err)
	}
	p := r.connect(plainListener)
	resp := new(message.DescribeLogDirsResponse)
	p.get(kafka.KeyDescribeLogDirs, 5, &message.DescribeLogDirsRequest{}, resp)
	want := []message.DescribeLogDirsResponseResult{{LogDir: recordedDir, TotalBytes: -1, UsableBytes: -1, Topics: []message.DescribeLogDirsResponseTopic{
		{Name: "t", Partitions: []message.DescribeLogDirsResponsePartition{{}, {PartitionIndex: 1, PartitionSize: log.Size()}}}}}}
	if diff := cmp.Diff(want, resp.Results); diff != "" || log.Size() == 0 {
		t.Error(diff)
	}
	move := &message.AlterReplicaLogDirsRequest{Dirs: []message.AlterReplicaLogDirsDir{
		{Path: recordedDir, Topics: []message.AlterReplicaLogDirsTopic{{Name: "t", Partitions: []int32{0, 9}}, {Name: "none", Partitions: []int32{0}}}},
		{Path: "/elsewhere", Topics: []message.AlterReplicaLogDirsTopic{{Name: "t", Partitions: []int32{0}}}}}}
	moved := new(message.AlterReplicaLogDirsResponse)
	p.get(kafka.KeyAlterReplicaLogDirs, 2, move, moved)
	var codes []int
	for _, topic := range moved.Results {
		for _, partition := range topic.Partitions {
			codes = append(codes, int(partition.ErrorCode))
		}
	}
	if diff := cmp.Diff([]int{0, 3, 3, 57}, codes); diff != "" {
		t.Error(diff)
	}
}

// TestToolsAskForRights: without the right nothing is told and nothing done.
func TestToolsAskForRights(t *testing.T) {
	r := newRig(t, withAuthorizer())
	r.topic("t", 1)
	p := r.connect(plainListener)
	one := []int32{0}
	for _, c := range []struct {
		key  kafka.APIKey
		ask  func() (kafka.Code, kafka.Code) // of the whole, of the partition
		want [2]kafka.Code
	}{
		{kafka.KeyElectLeaders, func() (kafka.Code, kafka.Code) {
			resp := new(message.ElectLeadersResponse)
			p.get(kafka.KeyElectLeaders, 2, &message.ElectLeadersRequest{TopicPartitions: []message.ElectLeadersTopic{{Topic: "t", Partitions: one}}}, resp)
			return resp.ErrorCode, resp.ReplicaElectionResults[0].PartitionResult[0].ErrorCode
		}, [2]kafka.Code{31, 31}},
		{kafka.KeyAlterPartitionReassignments, func() (kafka.Code, kafka.Code) {
			resp := new(message.AlterPartitionReassignmentsResponse)
			p.get(kafka.KeyAlterPartitionReassignments, 1, &message.AlterPartitionReassignmentsRequest{Topics: []message.AlterPartitionReassignmentsTopic{
				{Name: "t", Partitions: []message.AlterPartitionReassignmentsPartition{{Replicas: one}}}}}, resp)
			return resp.ErrorCode, resp.Responses[0].Partitions[0].ErrorCode
		}, [2]kafka.Code{31, 31}},
		{kafka.KeyAlterReplicaLogDirs, func() (kafka.Code, kafka.Code) {
			resp := new(message.AlterReplicaLogDirsResponse)
			p.get(kafka.KeyAlterReplicaLogDirs, 2, &message.AlterReplicaLogDirsRequest{Dirs: []message.AlterReplicaLogDirsDir{
				{Topics: []message.AlterReplicaLogDirsTopic{{Name: "t", Partitions: one}}}}}, resp)
			return 0, resp.Results[0].Partitions[0].ErrorCode
		}, [2]kafka.Code{0, 31}},
		{kafka.KeyDescribeProducers, func() (kafka.Code, kafka.Code) {
			resp := new(message.DescribeProducersResponse)
			p.get(kafka.KeyDescribeProducers, 0, &message.DescribeProducersRequest{Topics: []message.DescribeProducersTopic{{Name: "t", PartitionIndexes: one}}}, resp)
			return 0, resp.Topics[0].Partitions[0].ErrorCode
		}, [2]kafka.Code{0, 29}},
		{kafka.KeyListPartitionReassignments, func() (kafka.Code, kafka.Code) {
			resp := new(message.ListPartitionReassignmentsResponse)
			p.get(kafka.KeyListPartitionReassignments, 0, &message.ListPartitionReassignmentsRequest{}, resp)
			return resp.ErrorCode, 0
		}, [2]kafka.Code{31, 0}},
		{kafka.KeyDescribeQuorum, func() (kafka.Code, kafka.Code) {
			resp := new(message.DescribeQuorumResponse)
			p.get(kafka.KeyDescribeQuorum, 2, &message.DescribeQuorumRequest{}, resp)
			return resp.ErrorCode, kafka.Code(len(resp.Nodes))
		}, [2]kafka.Code{31, 0}},
		{kafka.KeyUpdateFeatures, func() (kafka.Code, kafka.Code) {
			resp := new(message.UpdateFeaturesResponse)
			p.get(kafka.KeyUpdateFeatures, 2, &message.UpdateFeaturesRequest{}, resp)
			return resp.ErrorCode, 0
		}, [2]kafka.Code{31, 0}},
		{kafka.KeyListConfigResources, func() (kafka.Code, kafka.Code) {
			resp := new(message.ListConfigResourcesResponse)
			p.get(kafka.KeyListConfigResources, 1, &message.ListConfigResourcesRequest{}, resp)
			return resp.ErrorCode, kafka.Code(len(resp.ConfigResources))
		}, [2]kafka.Code{31, 0}},
		{kafka.KeyDescribeTopicPartitions, func() (kafka.Code, kafka.Code) {
			return kafka.Code(len(pageOf(p, 9, nil).Topics)), pageOf(p, 9, nil, "t").Topics[0].ErrorCode
		}, [2]kafka.Code{0, 29}},
	} {
		whole, part := c.ask()
		if got := [2]kafka.Code{whole, part}; got != c.want {
			t.Errorf("%s: got %v, want %v", c.key, got, c.want)
		}
	}
}

// TestListConfigResources: the broker and its topics have configs.
func TestListConfigResources(t *testing.T) {
	r := newRig(t)
	r.topic("b", 1)
	r.topic("a", 1)
	p := r.connect(plainListener)
	list := func(version int16, kinds ...int8) (all []string) {
		resp := new(message.ListConfigResourcesResponse)
		p.get(kafka.KeyListConfigResources, version, &message.ListConfigResourcesRequest{ResourceTypes: kinds}, resp)
		for _, found := range resp.ConfigResources {
			all = append(all, fmt.Sprint(found.ResourceType, found.ResourceName))
		}
		return all
	}
	for _, c := range []struct {
		name      string
		got, want []string
	}{
		{"all", list(1), []string{"81", "41", "2a", "2b"}},
		{"topics", list(1, configTopic), []string{"2a", "2b"}},
		{"the broker", list(1, configBroker, configGroup, configClientMetrics), []string{"41"}},
		{"version 0", list(0), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
