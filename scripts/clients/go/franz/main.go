// Command franz is the client program of franz-go.
package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kaasd/clients/program"
)

func main() {
	program.Main(program.Client{
		About:   program.About{Name: "franz-go", Codecs: []string{"none", "gzip", "snappy", "lz4", "zstd"}, Lacks: map[string]string{}},
		Module:  "github.com/twmb/franz-go",
		Produce: produce, Consume: consume, Transact: transact,
	})
}

func options(o *program.Options) []kgo.Opt {
	opts := []kgo.Opt{kgo.SeedBrokers(o.Bootstrap), kgo.ClientID("franz-go-program")}
	switch o.Mechanism {
	case "PLAIN":
		opts = append(opts, kgo.SASL(plain.Auth{User: o.User, Pass: o.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		opts = append(opts, kgo.SASL(scram.Auth{User: o.User, Pass: o.Password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		opts = append(opts, kgo.SASL(scram.Auth{User: o.User, Pass: o.Password}.AsSha512Mechanism()))
	}
	return opts
}

// longest is the longest throttle so far.
type longest struct{ atomic.Int64 }

var _ kgo.HookBrokerThrottle = (*longest)(nil)

// OnBrokerThrottle is called for each throttled answer.
func (l *longest) OnBrokerThrottle(_ kgo.BrokerMetadata, d time.Duration, _ bool) {
	for old := l.Load(); int64(d) > old && !l.CompareAndSwap(old, int64(d)); old = l.Load() {
	}
}

var codecs = map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}

func produce(ctx context.Context, o *program.Options) (time.Duration, error) {
	var told longest
	opts := append(options(o), kgo.WithHooks(&told), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codecs[o.Codec]),
		kgo.ProducerLinger(5*time.Millisecond), kgo.ProducerBatchMaxBytes(16<<10))
	switch o.Acks {
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	var first kgo.FirstErrPromise
	for i := range o.Numbers {
		client.Produce(ctx, &kgo.Record{Topic: o.Topic, Partition: int32(i % o.Partitions), Key: program.Key(i), Value: program.Value(i)}, first.Promise())
	}
	err = first.Err() // waits for the last record
	return time.Duration(told.Load()), err
}

var balancers = map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "sticky": kgo.StickyBalancer(),
	"cooperative": kgo.CooperativeStickyBalancer()}

func consume(ctx context.Context, o *program.Options, events *program.Events) error {
	client, err := kgo.NewClient(append(options(o), member(o, events)...)...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, 100)
		if err := fetches.Err0(); err != nil && !program.Ended(err) {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !events.Record(int(r.Partition), r.Offset, r.Value) {
				return
			}
			client.MarkCommitRecords(r)
		})
		if !fetches.Empty() {
			if err := commit(client, o, events); err != nil {
				return err
			}
		}
		client.AllowRebalance()
	}
	leave, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	return client.LeaveGroupContext(leave)
}

func commit(client *kgo.Client, o *program.Options, events *program.Events) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		return err
	}
	events.Committed()
	return nil
}

func member(o *program.Options, events *program.Events) []kgo.Opt {
	revoked := func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { events.Revoked(names(gone)...) }
	opts := []kgo.Opt{kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(o.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(o.Session), kgo.HeartbeatInterval(time.Second), kgo.BlockRebalanceOnPoll(), kgo.AutoCommitMarks(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { events.Assigned(names(got)...) }),
		kgo.OnPartitionsRevoked(revoked), kgo.OnPartitionsLost(revoked)}
	if o.Assignor != "" {
		opts = append(opts, kgo.Balancers(balancers[o.Assignor]))
	}
	if o.Static != "" {
		opts = append(opts, kgo.InstanceID(o.Static))
	}
	if o.Protocol == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	}
	return opts
}

func names(partitions map[string][]int32) []string {
	var all []string
	for topic, ps := range partitions {
		for _, p := range ps {
			all = append(all, program.Partition(topic, p))
		}
	}
	slices.Sort(all)
	return all
}

func transact(ctx context.Context, o *program.Options) error {
	client, err := kgo.NewClient(append(options(o), kgo.TransactionalID("tx-"+o.Topic), kgo.DefaultProduceTopic(o.Topic), kgo.TransactionTimeout(o.Timeout))...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, kgo.KeySliceRecord(program.Key(0), program.Value(0))).FirstErr(); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}
