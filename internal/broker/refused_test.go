package broker_test

import (
	"slices"
	"testing"
	"time"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// An error of acks=0 can only be told by closing the connection.
func TestUnansweredErrorEndsTheConnection(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	p := dial(t, b.Plain)
	p.send(9, produceRequest("none", 0, batch(10)))
	p.mustEnd()
	client.served(t)
}

// Topic ids that are not known are 100, the zero id among them.
func TestUnknownTopicIDs(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	for _, id := range []kafka.TopicID{{}, {1, 2, 3}} {
		req := produceRequest("", -1, batch(10))
		req.TopicData[0].TopicID = id
		produced := call[message.ProduceResponse](p, 13, req)
		if got := produced.Responses[0].PartitionResponses[0]; got.ErrorCode != kafka.UnknownTopicID || got.BaseOffset != -1 {
			t.Errorf("produce by id %s: %s, offset %d", id, got.ErrorCode, got.BaseOffset)
		}
		fetch := fetchRequest("", 0)
		fetch.Topics[0].TopicID = id
		fetched := call[message.FetchResponse](p, 13, fetch)
		if got := fetched.Responses[0].Partitions[0]; got.ErrorCode != kafka.UnknownTopicID {
			t.Errorf("fetch by id %s: %s", id, got.ErrorCode)
		}
	}
}

// Whatever byte of a batch is flipped, it is refused or stored as it is meant,
// and the broker lives.
func TestFlippedBytes(t *testing.T) {
	b := brokertest.Start(t)
	p := dial(t, b.Plain)
	p.newTopic("t")
	good := record.NewBuilder(record.None).Add(time.Now().UnixMilli(), []byte("k"), []byte("v")).Batch()
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0xff
		answer, _ := p.produce("t", bad)
		switch {
		case i >= 12 && i < 16: // the leader epoch is the broker's to write
			if answer.ErrorCode != kafka.NoError {
				t.Errorf("byte %d: %s", i, answer.ErrorCode)
			}
		case i == 22: // the bit of transactions, which is looked at before the batch is checked
			if answer.ErrorCode != kafka.TransactionalIDAuthorizationFailed {
				t.Errorf("byte %d: %s", i, answer.ErrorCode)
			}
		case answer.ErrorCode != kafka.CorruptMessage && answer.ErrorCode != kafka.InvalidRecord:
			t.Errorf("byte %d: %s", i, answer.ErrorCode)
		}
	}
	if got := endOffset(p, "t"); got != 4 {
		t.Errorf("%d batches were stored, want 4", got)
	}
}

// One batch of magic 2 is what a partition of Produce holds; a fault of one
// partition is its own.
func TestOneBatchPerPartition(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	old := batch(10)
	old[16] = 1
	zstd := record.NewBuilder(record.Zstd).Add(time.Now().UnixMilli(), nil, []byte("v")).Batch()
	for _, c := range []struct {
		name    string
		version int16
		records record.Batch
		code    kafka.Code
	}{
		{"two batches", 9, slices.Concat(batch(10), batch(10)), kafka.InvalidRecord},
		{"no batch", 9, record.Batch{}, kafka.InvalidRecord},
		{"half a batch", 9, batch(10)[:40], kafka.InvalidRecord},
		{"magic 1", 3, old, kafka.InvalidRecord},
		{"zstd before version 7", 6, zstd, kafka.UnsupportedCompressionType},
		{"zstd", 7, zstd, kafka.NoError},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			req := produceRequest("t", -1, c.records)
			req.TopicData = append(req.TopicData, produceRequest("none", -1, batch(10)).TopicData...)
			resp := call[message.ProduceResponse](p, c.version, req)
			if got := resp.Responses[0].PartitionResponses[0].ErrorCode; got != c.code {
				t.Errorf("got %s, want %s", got, c.code)
			}
			if got := resp.Responses[1].PartitionResponses[0].ErrorCode; got != kafka.UnknownTopicOrPartition {
				t.Errorf("the other topic: %s", got)
			}
		})
	}
}
