package broker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/kafka"
)

// fetchSizes keeps the sizes of the answers to a client's fetches.
type fetchSizes struct{ last, largest, count atomic.Int64 }

func (f *fetchSizes) OnBrokerRead(_ kgo.BrokerMetadata, key int16, bytes int, _, _ time.Duration, err error) {
	if err != nil || kafka.APIKey(key) != kafka.KeyFetch {
		return
	}
	f.last.Store(int64(bytes))
	f.largest.Store(max(f.largest.Load(), int64(bytes)))
	f.count.Add(1)
}

// takeBuffered makes room for the next fetch of a client, without waiting.
func takeBuffered(c *kgo.Client) {
	var now context.Context // none: what is there
	c.PollFetches(now)
}

// A consumer of 200 partitions of which one has something new is told of that
// one, whatever the size of its session.
func TestSessionsTellWhatChangedAlone(t *testing.T) {
	const partitions = 200
	b := brokertest.Start(t)
	admin := kadm.NewClient(newClient(t, b.Plain))
	if _, err := admin.CreateTopic(t.Context(), partitions, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	producer := newClient(t, b.Plain, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	produce := func(partition int32) {
		r := &kgo.Record{Topic: "t", Partition: partition, Value: fmt.Append(nil, partition)}
		if err := producer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	sizes := new(fetchSizes)
	consumer := newClient(t, b.Plain, kgo.ConsumeTopics("t"), kgo.FetchMaxWait(50*ms), kgo.WithHooks(sizes), kgo.MaxConcurrentFetches(1),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	seen := map[int32]int{}
	consume := func(n int) {
		for got := 0; got < n; {
			consumer.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) { seen[r.Partition]++; got++ })
		}
	}
	for i := range int32(partitions) {
		produce(i)
	}
	consume(partitions)
	const small = 250
	eventually(t, "an answer of nothing new", func() bool {
		takeBuffered(consumer)
		return sizes.last.Load() < small
	})
	for i := range int32(10) {
		sizes.largest.Store(0)
		produce(7 * i)
		consume(1)
		before := sizes.count.Load()
		eventually(t, "fetches go on", func() bool {
			takeBuffered(consumer)
			return sizes.count.Load() > before+1
		})
		if got := sizes.largest.Load(); got > 2*small {
			t.Errorf("an answer about partition %d has %d bytes", 7*i, got)
		}
	}
	for partition, n := range seen {
		if want := 1 + map[bool]int{true: 1}[partition%7 == 0 && partition < 70]; n != want {
			t.Errorf("partition %d: %d records, want %d", partition, n, want)
		}
	}
}
