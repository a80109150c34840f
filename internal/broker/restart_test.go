package broker_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// lives runs a test over a restart of the broker: once after a clean stop, and
// once on a copy of the folder as it was while the broker ran, which is what a
// kill leaves.
func lives(t *testing.T, test func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker), changes ...func(*broker.Config)) {
	start := func(t *testing.T, folder func(*broker.Config)) *brokertest.Broker {
		t.Helper()
		return brokertest.Start(t, append([]func(*broker.Config){folder}, changes...)...)
	}
	t.Run("after a stop", func(t *testing.T) {
		folder := withFolder(t)
		b := start(t, folder)
		test(t, b, func() *brokertest.Broker {
			b.Stop()
			b = start(t, folder)
			return b
		})
	})
	t.Run("after a kill", func(t *testing.T) {
		dir := t.TempDir()
		b := start(t, inFolder(dir))
		test(t, b, func() *brokertest.Broker {
			next := t.TempDir()
			if err := os.CopyFS(next, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			b.Stop()
			dir, b = next, start(t, inFolder(next))
			return b
		})
	})
}

// Topics keep their ids, partitions and configs, the broker its own.
func TestTopicsOutliveTheBroker(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		told := func(b *brokertest.Broker) (any, any, string) {
			admin := kadm.NewClient(newClient(t, b.Plain))
			topics, err := admin.ListTopics(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			facts := map[string]any{}
			for _, topic := range topics {
				facts[topic.Topic] = []any{topic.ID, len(topic.Partitions)}
			}
			configs := map[string]string{}
			for _, describe := range []func() (kadm.ResourceConfigs, error){
				func() (kadm.ResourceConfigs, error) { return admin.DescribeTopicConfigs(t.Context(), "a", "b") },
				func() (kadm.ResourceConfigs, error) { return admin.DescribeBrokerConfigs(t.Context(), 1) },
			} {
				all, err := describe()
				if err != nil {
					t.Fatal(err)
				}
				for _, resource := range all {
					for _, c := range resource.Configs {
						if c.Key == "log.dirs" {
							continue // a copy lies elsewhere
						}
						configs[resource.Name+" "+c.Key] = c.MaybeValue() + " " + c.Source.String()
					}
				}
			}
			return facts, configs, b.ClusterID()
		}
		admin := kadm.NewClient(newClient(t, b.Plain))
		for _, topic := range []string{"a", "b", "gone"} {
			if _, err := admin.CreateTopic(t.Context(), 2, 1, map[string]*string{"retention.ms": ptr("86400000")}, topic); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := admin.CreatePartitions(t.Context(), 3, "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.DeleteTopic(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
		alter := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: ptr("12345")}, {Op: kadm.DeleteConfig, Name: "retention.ms"}}
		if got, err := admin.AlterTopicConfigs(t.Context(), alter, "b"); err != nil || got[0].Err != nil {
			t.Fatal(err, got)
		}
		broker := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "log.retention.ms", Value: ptr("7200000")}}
		if got, err := admin.AlterBrokerConfigs(t.Context(), broker, 1); err != nil || got[0].Err != nil {
			t.Fatal(err, got)
		}
		topics, configs, cluster := told(b)
		for range 2 {
			gotTopics, gotConfigs, gotCluster := told(again())
			if diff := cmp.Diff(topics, gotTopics); diff != "" {
				t.Error("topics:", diff)
			}
			if diff := cmp.Diff(configs, gotConfigs); diff != "" {
				t.Error("configs:", diff)
			}
			if gotCluster != cluster {
				t.Errorf("the cluster was %s and is %s", cluster, gotCluster)
			}
		}
	})
}

// Records are there, at their offsets, and new ones come behind them; a start
// that was moved stays moved.
func TestRecordsOutliveTheBroker(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		newest := newClient(t, b.Plain)
		produceN(t, newest, "t", 500, 100)
		consumeN(t, b.Plain, "t", 500)
		p := dial(t, b.Plain)
		p.newTopic("cut")
		appendMany(t, p, "cut", 5, 100)
		deleted := call[message.DeleteRecordsResponse](p, 2, &message.DeleteRecordsRequest{TimeoutMs: 30_000, Topics: []message.DeleteRecordsTopic{{
			Name: "cut", Partitions: []message.DeleteRecordsPartition{{Offset: 2}},
		}}})
		if got := deleted.Topics[0].Partitions[0]; got.ErrorCode != 0 || got.LowWatermark != 2 {
			t.Fatalf("got %+v", got)
		}
		for life := range int64(2) {
			b = again()
			consumeN(t, b.Plain, "t", 500)
			p = dial(t, b.Plain)
			if start, end := offsetAt(p, "cut", -2).Offset, endOffset(p, "cut"); start != 2 || end != 5+life {
				t.Errorf("the topic goes from %d to %d, want 2 to %d", start, end, 5+life)
			}
			below := call[message.FetchResponse](p, 11, fetchRequest("cut", 1))
			if got := below.Responses[0].Partitions[0].ErrorCode; got != kafka.OffsetOutOfRange {
				t.Errorf("below the start: %s", got)
			}
			if answer, _ := p.produce("cut", batch(10)); answer.BaseOffset != 5+life || answer.LogStartOffset != 2 {
				t.Errorf("got offset %d, start %d", answer.BaseOffset, answer.LogStartOffset)
			}
		}
	})
}

// idempotent is a batch of two records of a producer.
func idempotent(id int64, epoch int16, sequence int32) record.Batch {
	now := time.Now().UnixMilli()
	return record.NewBuilder(record.None).Add(now, nil, []byte("a")).Add(now, nil, []byte("b")).Producer(id, epoch, sequence).Batch()
}

func (p *peer) newProducer() int64 {
	p.t.Helper()
	resp := call[message.InitProducerIdResponse](p, 4, &message.InitProducerIdRequest{ProducerID: -1, ProducerEpoch: -1})
	if resp.ErrorCode != kafka.NoError || resp.ProducerEpoch != 0 {
		p.t.Fatalf("new producer: %s, epoch %d", resp.ErrorCode, resp.ProducerEpoch)
	}
	return resp.ProducerID
}

// Producer ids never repeat, and a batch that is sent again gets the
// offset it had, also after a restart.
func TestProducersOutliveTheBroker(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		p := dial(t, b.Plain)
		p.newTopic("t")
		given := map[int64]bool{}
		id := p.newProducer()
		given[id] = true
		want := func(sequence int32, offset int64, code kafka.Code) {
			t.Helper()
			answer, _ := p.produce("t", idempotent(id, 0, sequence))
			if answer.BaseOffset != offset || answer.ErrorCode != code {
				t.Errorf("sequence %d: got offset %d, %s; want %d, %s", sequence, answer.BaseOffset, answer.ErrorCode, offset, code)
			}
		}
		for i := range int64(6) {
			want(int32(2*i), 2*i, kafka.NoError)
		}
		for life := range int64(2) {
			b = again()
			p = dial(t, b.Plain)
			for range 3 {
				if next := p.newProducer(); given[next] {
					t.Errorf("id %d was given twice", next)
				} else {
					given[next] = true
				}
			}
			last := 10 + 2*life
			for s := last - 8; s <= last; s += 2 { // the five that are remembered
				want(int32(s), s, kafka.NoError)
			}
			want(int32(last-10), -1, kafka.OutOfOrderSequenceNumber)
			want(int32(last+4), -1, kafka.OutOfOrderSequenceNumber)
			want(int32(last+2), last+2, kafka.NoError)
			if got := endOffset(p, "t"); got != last+4 {
				t.Errorf("the topic ends at %d, want %d", got, last+4)
			}
		}
		if answer, _ := p.produce("t", idempotent(id, 1, 0)); answer.ErrorCode != kafka.NoError {
			t.Errorf("a new epoch: %s", answer.ErrorCode)
		}
		if answer, _ := p.produce("t", idempotent(id, 0, 16)); answer.ErrorCode != kafka.InvalidProducerEpoch {
			t.Errorf("the old epoch: %s", answer.ErrorCode)
		}
		p.newTopic("new")
		if answer, _ := p.produce("new", idempotent(id, 0, 77)); answer.ErrorCode != kafka.NoError {
			t.Errorf("a sequence of a producer that the log does not know: %s", answer.ErrorCode)
		}
	})
}

// The leader epoch is raised by every start, stamped into batches, and tells
// where each life of the log ended.
func TestLeaderEpochsOutliveTheBroker(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		dial(t, b.Plain).newTopic("t")
		var epochs []int32
		for life := range int64(3) {
			if life > 0 {
				b = again()
			}
			p := dial(t, b.Plain)
			meta := call[message.MetadataResponse](p, 9, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{Name: ptr("t")}}})
			epoch := meta.Topics[0].Partitions[0].LeaderEpoch
			if life > 0 && epoch <= epochs[life-1] {
				t.Errorf("epoch %d follows %d", epoch, epochs[life-1])
			}
			epochs = append(epochs, epoch)
			appendMany(t, p, "t", 2, 10)
			for i, e := range epochs {
				told := call[message.OffsetForLeaderEpochResponse](p, 4, &message.OffsetForLeaderEpochRequest{ReplicaID: -1, Topics: []message.OffsetForLeaderEpochTopic{{
					Topic: "t", Partitions: []message.OffsetForLeaderEpochPartition{{CurrentLeaderEpoch: -1, LeaderEpoch: e}},
				}}}).Topics[0].Partitions[0]
				if told.ErrorCode != 0 || told.LeaderEpoch != e || told.EndOffset != int64(2*i+2) {
					t.Errorf("life %d, epoch %d: got %+v, want its end at %d", life, e, told, 2*i+2)
				}
			}
			fetched := call[message.FetchResponse](p, 12, fetchRequest("t", 0)).Responses[0].Partitions[0]
			for i, b := range batches(t, fetched.Records.Bytes) {
				if b.LeaderEpoch() != epochs[i/2] {
					t.Errorf("life %d: batch %d has epoch %d, want %d", life, i, b.LeaderEpoch(), epochs[i/2])
				}
			}
			for known, want := range map[int32]kafka.Code{epoch: kafka.NoError, epoch - 1: kafka.FencedLeaderEpoch, epoch + 1: kafka.UnknownLeaderEpoch} {
				if known < 0 {
					continue // means none
				}
				req := fetchRequest("t", 0)
				req.Topics[0].Partitions[0].CurrentLeaderEpoch = known
				if got := call[message.FetchResponse](p, 12, req).Responses[0].Partitions[0].ErrorCode; got != want {
					t.Errorf("life %d: a fetch that knows epoch %d: %s, want %s", life, known, got, want)
				}
			}
		}
	})
}

// The first record at or behind a time is found, inside of batches too, before
// and after a restart.
func TestTimesOutliveTheBroker(t *testing.T) {
	base := time.Now().UnixMilli() - 1000
	all := map[string][]record.Batch{}
	for _, ts := range []int64{2, 4, 6, 8} {
		all["apart"] = append(all["apart"], record.NewBuilder(record.None).Add(base+ts, nil, []byte("v")).Batch())
	}
	for name, codec := range map[string]record.Codec{"together": record.None, "zipped": record.Gzip} {
		b := record.NewBuilder(codec)
		for _, ts := range []int64{2, 4, 6, 8} {
			b.Add(base+ts, nil, []byte("v"))
		}
		all[name] = []record.Batch{b.Batch()}
	}
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		p := dial(t, b.Plain)
		for topic, batches := range all {
			p.newTopic(topic)
			for _, b := range batches {
				p.mustProduce(topic, b)
			}
		}
		for life := range 2 {
			for topic := range all {
				for ts, want := range []int64{0, 0, 0, 1, 1, 2, 2, 3, 3, -1} {
					if got := offsetAt(p, topic, base+int64(ts)); got.Offset != want || got.ErrorCode != 0 {
						t.Errorf("life %d, %s, time %d: offset %d, want %d", life, topic, ts, got.Offset, want)
					}
				}
				for special, want := range map[int64]int64{-1: 4, -2: 0, -3: 3} {
					if got := offsetAt(p, topic, special); got.Offset != want {
						t.Errorf("life %d, %s, special time %d: offset %d, want %d", life, topic, special, got.Offset, want)
					}
				}
			}
			p = dial(t, again().Plain)
		}
	})
}

// A folder belongs to one broker at a time.
func TestFolderIsLocked(t *testing.T) {
	folder := withFolder(t)
	b := brokertest.Start(t, folder)
	if err := startsNot(folder); err == nil {
		t.Error("a second broker started on the folder")
	}
	dial(t, b.Plain).versions()
}
