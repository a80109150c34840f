package broker_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker/brokertest"
)

// take reads n records of a client and gives what is in them.
func take(t *testing.T, c *kgo.Client, n int) []string {
	t.Helper()
	var all []string
	for len(all) < n {
		fetches := c.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { all = append(all, string(r.Value)) })
	}
	return all
}

// A consumer whose offset was deleted goes on at the new start, which lies inside
// a batch; one that begins inside a batch gets what is behind it alone.
func TestConsumersGoOnBehindDeletedRecords(t *testing.T) {
	for codec, o := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "zstd": kgo.ZstdCompression()} {
		b := brokertest.Start(t)
		producer := newClient(t, b.Plain, kgo.ProducerBatchCompression(o), kgo.DefaultProduceTopic("t"), kgo.ManualFlushing())
		var want []string
		for i := range 10 { // one batch of ten
			want = append(want, fmt.Sprint("value ", i))
			producer.Produce(t.Context(), kgo.StringRecord(want[i]), nil)
		}
		if err := producer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		from := func(at, reset kgo.Offset) *kgo.Client {
			return newClient(t, b.Plain, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: at}}), kgo.ConsumeResetOffset(reset))
		}
		if diff := cmp.Diff(want[3:], take(t, from(kgo.NewOffset().At(3), kgo.NoResetOffset()), 7)); diff != "" {
			t.Errorf("%s, from inside the batch: %s", codec, diff)
		}
		var to kadm.Offsets
		to.AddOffset("t", 0, 6, -1)
		if got, err := kadm.NewClient(producer).DeleteRecords(t.Context(), to); err != nil || got["t"][0].LowWatermark != 6 {
			t.Fatalf("%+v, %v", got, err)
		}
		if diff := cmp.Diff(want[6:], take(t, from(kgo.NewOffset().At(2), kgo.NewOffset().AtStart()), 4)); diff != "" {
			t.Errorf("%s, from below the start: %s", codec, diff)
		}
	}
}
