package broker_test

import (
	"encoding/binary"
	"math"
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// reseal makes the checksum of a batch fit again.
func reseal(b record.Batch) { binary.BigEndian.PutUint32(b[17:], b.Sum()) }

// Sequences go on with 0 behind 2^31-1, also inside a batch and after a
// restart, and a batch over the edge that is sent again has the offset it had.
func TestSequencesWrap(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		p := dial(t, b.Plain)
		p.newTopic("inside")
		p.newTopic("between")
		steps := func(topic string, sequences map[int32]int64, order ...int32) {
			t.Helper()
			for _, sequence := range order {
				code := kafka.NoError
				if sequences[sequence] < 0 {
					code = kafka.OutOfOrderSequenceNumber
				}
				if answer, _ := p.produce(topic, idempotent(1, 0, sequence)); answer.ErrorCode != code || answer.BaseOffset != sequences[sequence] {
					t.Errorf("%s, sequence %d: %s at %d, want %s at %d", topic, sequence, answer.ErrorCode, answer.BaseOffset, code, sequences[sequence])
				}
			}
		}
		const last = math.MaxInt32
		// Two records each: last is the batch of sequences last and 0.
		inside := map[int32]int64{last - 2: 0, last: 2, 0: -1, 2: -1, 1: 4}
		between := map[int32]int64{last - 3: 0, last - 1: 2, 1: -1, last: -1, 0: 4}
		steps("inside", inside, last-2, last, 0, 2, last)
		steps("between", between, last-3, last-1, 1, last, last-1)
		p = dial(t, again().Plain)
		steps("inside", inside, last, 0, 2, 1, 1, last)
		steps("between", between, last-1, last, 1, 0, 0, last-1)
	})
}

// A new epoch of a producer begins with 0; an old one is over.
func TestEpochsOfAProducer(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	p.newTopic("t")
	for _, s := range []struct {
		epoch    int16
		sequence int32
		code     kafka.Code
		offset   int64
	}{
		{3, 10, kafka.NoError, 0}, // nothing is known of it
		{4, 12, kafka.OutOfOrderSequenceNumber, -1},
		{4, 1, kafka.OutOfOrderSequenceNumber, -1},
		{2, 12, kafka.InvalidProducerEpoch, -1},
		{2, 0, kafka.InvalidProducerEpoch, -1},
		{3, 12, kafka.NoError, 2},
		{4, 0, kafka.NoError, 4},
		{4, 0, kafka.NoError, 4},
		{3, 14, kafka.InvalidProducerEpoch, -1},
		{3, 12, kafka.InvalidProducerEpoch, -1}, // known once, of an epoch that is over
		{4, 2, kafka.NoError, 6},
	} {
		if answer, _ := p.produce("t", idempotent(1, s.epoch, s.sequence)); answer.ErrorCode != s.code || answer.BaseOffset != s.offset {
			t.Errorf("%+v: %s at %d", s, answer.ErrorCode, answer.BaseOffset)
		}
	}
}
