package handlers

import (
	"testing"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// batch is records with the given values, of no producer, now.
func batch(values ...string) record.Batch {
	b := record.NewBuilder(record.None)
	for _, v := range values {
		b.Add(time.Now().UnixMilli(), nil, []byte(v))
	}
	return b.Batch()
}

// sized is a batch of about n bytes, never more.
func sized(n int) record.Batch {
	value := make([]byte, n)
	for {
		b := record.NewBuilder(record.None).Add(time.Now().UnixMilli(), nil, value).Batch()
		if len(b) <= n {
			return b
		}
		value = value[:len(value)-(len(b)-n)]
	}
}

// produceTo is a request for one partition.
func produceTo(topic string, id kafka.TopicID, partition int32, acks int16, records []byte) *message.ProduceRequest {
	return &message.ProduceRequest{Acks: acks, TimeoutMs: 1000, TopicData: []message.ProduceTopic{{Name: topic, TopicID: id,
		PartitionData: []message.ProducePartition{{Index: partition, Records: codec.Records{Bytes: records}}}}}}
}

// fetchFrom is a request for one partition, without a session, that does not
// wait.
func fetchFrom(topic string, id kafka.TopicID, partition int32, offset int64) *message.FetchRequest {
	return &message.FetchRequest{ReplicaID: -1, MinBytes: 1, MaxBytes: 1 << 20, SessionEpoch: -1,
		Topics: []message.FetchTopic{{Topic: topic, TopicID: id, Partitions: []message.FetchPartition{{
			Partition: partition, CurrentLeaderEpoch: -1, FetchOffset: offset, LastFetchedEpoch: -1, LogStartOffset: -1, PartitionMaxBytes: 1 << 20}}}}}
}

// values are those of all records in some batches.
func values(t testing.TB, records []byte) []string {
	t.Helper()
	var all []string
	for len(records) > 0 {
		b, rest, err := record.Next(records)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		for r, err := range b.Records() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(r.Value))
		}
		records = rest
	}
	return all
}
