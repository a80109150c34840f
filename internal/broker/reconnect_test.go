package broker_test

import (
	"testing"
	"time"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// A client that comes back for every request gets no more than one that stays, whether it waits for its answers or not.
func TestComingBackDoesNotEscape(t *testing.T) {
	t.Parallel()
	const limit, size = 500_000, 50_000
	for _, acks := range []int16{1, 0} {
		b := brokertest.Start(t)
		admin := dial(t, b.Plain)
		admin.newTopic("t")
		admin.alter(anonymous, set(kafka.ProducerByteRate, limit))
		began := time.Now()
		for time.Since(began) < 3*time.Second {
			p := dial(t, b.Plain)
			p.send(8, &message.ProduceRequest{Acks: acks, TopicData: []message.ProduceTopic{{Name: "t", PartitionData: []message.ProducePartition{
				{Records: codec.Records{Bytes: batch(size)}},
			}}}})
			if acks != 0 {
				p.read(&message.ProduceResponse{})
			} else {
				p.forget()
			}
			p.Close()
		}
		took := time.Since(began).Seconds()
		// The burst, what the time is worth, those who may join a debt, and
		// what was under way.
		most := limit*(1+took) + 25*size
		if got := float64(endOffset(dial(t, b.Plain), "t")) * size; got > most {
			t.Errorf("acks=%d: %.0f bytes in %.1f s, want at most %.0f", acks, got, took, most)
		}
	}
}
