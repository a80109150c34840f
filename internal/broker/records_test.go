package broker_test

import (
	"testing"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// batch is one record of size bytes, in a batch by no producer.
func batch(size int) record.Batch {
	return record.NewBuilder(record.None).Add(time.Now().UnixMilli(), nil, make([]byte, size)).Batch()
}

func produceRequest(topic string, acks int16, b record.Batch) *message.ProduceRequest {
	return &message.ProduceRequest{Acks: acks, TimeoutMs: 30_000, TopicData: []message.ProduceTopic{{
		Name: topic, PartitionData: []message.ProducePartition{{Records: codec.Records{Bytes: b}}},
	}}}
}

// produce appends one batch and gives the answer of its partition, with the
// throttle that came with it.
func (p *peer) produce(topic string, b record.Batch) (message.ProduceResponsePartition, time.Duration) {
	p.t.Helper()
	resp := call[message.ProduceResponse](p, 9, produceRequest(topic, -1, b))
	return resp.Responses[0].PartitionResponses[0], time.Duration(resp.ThrottleTimeMs) * time.Millisecond
}

// producedTo sends a request of one partition and gives that one's answer.
func (p *peer) producedTo(version int16, req *message.ProduceRequest) message.ProduceResponsePartition {
	p.t.Helper()
	return call[message.ProduceResponse](p, version, req).Responses[0].PartitionResponses[0]
}

// mustProduce appends one batch and gives the throttle.
func (p *peer) mustProduce(topic string, b record.Batch) time.Duration {
	p.t.Helper()
	answer, throttle := p.produce(topic, b)
	if answer.ErrorCode != kafka.NoError {
		p.t.Fatalf("produce to %s: %s", topic, answer.ErrorCode)
	}
	return throttle
}

func fetchRequest(topic string, offset int64) *message.FetchRequest {
	return &message.FetchRequest{
		ReplicaID: -1, MaxBytes: 50 << 20, MinBytes: 1, SessionEpoch: -1,
		Topics: []message.FetchTopic{{Topic: topic, Partitions: []message.FetchPartition{{
			FetchOffset: offset, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1, PartitionMaxBytes: 50 << 20,
		}}}},
	}
}

// batches cuts the records of an answer into the batches they are made of.
func batches(t *testing.T, records []byte) []record.Batch {
	t.Helper()
	var all []record.Batch
	for len(records) > 0 {
		first, rest, err := record.Next(records)
		if err != nil {
			t.Fatalf("records of an answer: %v", err)
		}
		if err := first.Check(); err != nil {
			t.Fatalf("batch at offset %d: %v", first.BaseOffset(), err)
		}
		all, records = append(all, first), rest
	}
	return all
}
