package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/kafka"
)

func newClient(t *testing.T, address string, o ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(address), kgo.AllowAutoTopicCreation()}, o...)...)
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

func produceN(t *testing.T, client *kgo.Client, topic string, n, size int) {
	t.Helper()
	for i := range n {
		client.Produce(t.Context(), &kgo.Record{Topic: topic, Key: fmt.Append(nil, i), Value: make([]byte, size)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce record %d: %v", i, err)
			}
		})
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

func consumeN(t *testing.T, address, topic string, n int, o ...kgo.Opt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := newClient(t, address, append([]kgo.Opt{kgo.ConsumeTopics(topic)}, o...)...)
	for got := 0; got < n; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %d of %d records: %v", got, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if want := fmt.Sprint(got); string(r.Key) != want {
				t.Fatalf("record %d has key %s", got, r.Key)
			}
			got++
		})
	}
}

func TestClientProducesAndConsumesWithEveryCodec(t *testing.T) {
	b := brokertest.Start(t)
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, b.Plain, kgo.ProducerBatchCompression(codec))
			produceN(t, client, "codec-"+name, 1000, 100)
			consumeN(t, b.Plain, "codec-"+name, 1000)
		})
	}
}

func TestQuotaSetOverTheAPIIsFelt(t *testing.T) {
	b := brokertest.Start(t)
	throttled := make(chan time.Duration, 1000)
	client := newClient(t, b.Plain, kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.WithHooks(throttleHook(throttled)))
	admin := kadm.NewClient(client)
	setQuota(t, admin, "ANONYMOUS", kafka.ProducerByteRate, 100_000)
	produceN(t, client, "felt", 15, 10_000) // half a second over the burst
	select {
	case d := <-throttled:
		if d <= 0 || d > 2*time.Second {
			t.Errorf("throttled for %v", d)
		}
	default:
		t.Error("150 kB at 100 kB/s were not throttled")
	}
}

type throttleHook chan<- time.Duration

func (h throttleHook) OnBrokerThrottle(_ kgo.BrokerMetadata, d time.Duration, _ bool) {
	select {
	case h <- d:
	default:
	}
}

func setQuota(t *testing.T, admin *kadm.Client, user, key string, value float64) {
	t.Helper()
	answers, err := admin.AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: kafka.EntityUser, Name: &user}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: key, Value: value}},
	}})
	if err != nil {
		t.Fatalf("alter quotas: %v", err)
	}
	for _, a := range answers {
		if a.Err != nil {
			t.Fatalf("alter the quota of %s: %v", user, a.Err)
		}
	}
}
