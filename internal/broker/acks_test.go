package broker_test

import (
	"slices"
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// Requests of acks=0 leave no byte behind: after a thousand of them, in one go
// and in every version, the next answer is that to the next request.
func TestUnansweredProducesLeaveNoByte(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	id := p.newTopic("t")
	var all []byte
	for i := range 1000 {
		req := produceRequest("t", 0, batch(10))
		req.TopicData[0].TopicID = id
		all = append(all, p.frame(int16(3+i%11), req)...)
	}
	p.raw(all)
	if answer, _ := p.produce("t", batch(10)); answer.ErrorCode != kafka.NoError || answer.BaseOffset != 1000 {
		t.Errorf("the one that is answered: %s at offset %d, want 1000", answer.ErrorCode, answer.BaseOffset)
	}
	p.versions()
}

// Whatever is wrong with a request of acks=0, its connection ends, since there
// is no other way to tell; what was good before it stays.
func TestEveryUnansweredErrorEndsTheConnection(t *testing.T) {
	b := brokertest.Start(t)
	client := newBeside(t, b)
	client.newTopic("t")
	client.newTopic("small", config("max.message.bytes", "1000"))
	broken := batch(10)
	broken[len(broken)-1]++
	byID := func(id kafka.TopicID) *message.ProduceRequest {
		req := produceRequest("", 0, batch(10))
		req.TopicData[0].TopicID = id
		return req
	}
	second := produceRequest("t", 0, batch(10))
	second.TopicData[0].PartitionData = append(second.TopicData[0].PartitionData, message.ProducePartition{Index: 7})
	for i, c := range []struct {
		name    string
		version int16
		req     *message.ProduceRequest
		stored  int64
	}{
		{"unknown topic", 3, produceRequest("none", 0, batch(10)), 0},
		{"unknown partition beside a good one", 9, second, 1},
		{"unknown id", 13, byID(kafka.TopicID{9}), 0},
		{"zero id", 13, byID(kafka.TopicID{}), 0},
		{"a checksum that is wrong", 9, produceRequest("t", 0, broken), 0},
		{"too large", 9, produceRequest("small", 0, batch(2000)), 0},
		{"two batches", 9, produceRequest("t", 0, slices.Concat(batch(10), batch(10))), 0},
		{"a sequence out of order", 9, produceRequest("t", 0, idempotent(77, 0, 40)), 2},
		{"and once more", 9, produceRequest("t", 0, idempotent(77, 0, 60)), 0},
		{"transactional", 9, produceRequest("t", 0, transactional()), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := dial(t, b.Plain)
			before := endOffset(client.peer, "t")
			p.raw(p.frame(c.version, c.req))
			if i == 7 { // the first sequence of a producer is any
				p.versions()
			} else {
				p.mustEnd()
			}
			if got := endOffset(client.peer, "t") - before; got != c.stored {
				t.Errorf("%d records were stored, want %d", got, c.stored)
			}
			client.served(t)
		})
	}
}

// transactional is a batch that claims to be part of a transaction.
func transactional() record.Batch {
	b := idempotent(5, 0, 0)
	b[22] |= 1 << 4
	reseal(b)
	return b
}
