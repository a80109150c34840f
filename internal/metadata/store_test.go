package metadata

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

var orders = TopicCreated{Name: "orders", ID: kafka.TopicID{1}, Partitions: 3, Configs: map[string]string{"retention.ms": "1000"}}

func open(t *testing.T, log storage.Log) *Store {
	t.Helper()
	return openLog(t, log, Options{NodeID: 1, Flush: storage.FlushInterval, FlushInterval: time.Second})
}

func commit(t *testing.T, s *Store, changes ...Change) *Image {
	t.Helper()
	m, err := s.Commit(t.Context(), changes...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sketch is an image in the words of a test.
func sketch(m *Image) string {
	var b strings.Builder
	for _, t := range m.Topics() {
		fmt.Fprintf(&b, "%s %d %v\n", t.Name, t.Partitions, t.Configs)
	}
	for _, user := range m.ScramUsers() {
		for _, mechanism := range kafka.ScramMechanisms {
			if c, ok := m.Scram(user, mechanism); ok {
				fmt.Fprintf(&b, "%q %s\n", user, c)
			}
		}
	}
	for _, a := range m.ACLs() {
		fmt.Fprintf(&b, "%s\n", a)
	}
	for _, q := range slices.SortedFunc(m.Quotas(), func(a, b Quota) int { return strings.Compare(a.Entity.String(), b.Entity.String()) }) {
		fmt.Fprintf(&b, "%q %v %s\n", q.Entity, q.Values, q.Address)
	}
	fmt.Fprintf(&b, "producers %d, broker 1 %v, all %v", m.NextProducerID, m.BrokerOverrides("1"), m.BrokerOverrides(""))
	return b.String()
}

func TestReplayGivesTheSameImage(t *testing.T) {
	log := &memoryLog{}
	s := open(t, log)
	commit(t, s, orders, TopicCreated{Name: "gone", ID: kafka.TopicID{2}, Partitions: 1})
	commit(t, s, PartitionsAdded{ID: orders.ID, Partitions: 5})
	commit(t, s, TopicConfigsSet{ID: orders.ID, Configs: map[string]string{"segment.ms": "60000"}})
	commit(t, s, BrokerConfigsSet{Broker: "", Configs: map[string]string{"log.retention.ms": "5000"}},
		BrokerConfigsSet{Broker: "1", Configs: map[string]string{"message.max.bytes": "2000"}})
	commit(t, s, TopicDeleted{ID: kafka.TopicID{2}}, ProducerIDsReserved{Next: 2000})
	want := "orders 5 map[segment.ms:60000]\nproducers 2000, broker 1 map[message.max.bytes:2000], all map[log.retention.ms:5000]"
	if got := sketch(s.Image()); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	again := open(t, log).Image()
	if diff := cmp.Diff(sketch(s.Image()), sketch(again)); diff != "" {
		t.Errorf("replay differs: %s", diff)
	}
	topic, ok := again.TopicByID(orders.ID)
	if !ok || topic.Settings.Log.SegmentAge != time.Minute || topic.Settings.Log.RetentionAge != 5*time.Second || topic.Settings.MaxMessageBytes != 2000 {
		t.Errorf("settings after replay: %+v", topic.Settings)
	}
	if _, ok := again.Topic("gone"); ok || again.Partitions() != 5 {
		t.Errorf("the deleted topic is back: %d partitions", again.Partitions())
	}
}

func TestCommitIsAllOrNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		change Change
		code   kafka.Code
	}{
		{"a topic of the same name", TopicCreated{Name: "orders", ID: kafka.TopicID{9}, Partitions: 1}, kafka.TopicAlreadyExists},
		{"a topic whose name collides", TopicCreated{Name: "a.b", ID: kafka.TopicID{9}, Partitions: 1}, kafka.InvalidTopic},
		{"the name of the log itself", TopicCreated{Name: "__kaasd_metadata", ID: kafka.TopicID{9}, Partitions: 1}, kafka.InvalidTopic},
		{"a topic of the same id", TopicCreated{Name: "other", ID: kafka.TopicID{1}, Partitions: 1}, kafka.UnknownServerError},
		{"a topic without an id", TopicCreated{Name: "other", Partitions: 1}, kafka.UnknownServerError},
		{"no partitions", TopicCreated{Name: "other", ID: kafka.TopicID{9}}, kafka.InvalidPartitions},
		{"a bad config", TopicCreated{Name: "other", ID: kafka.TopicID{9}, Partitions: 1, Configs: map[string]string{"segment.ms": "0"}}, kafka.InvalidConfig},
		{"an unknown topic", TopicDeleted{ID: kafka.TopicID{9}}, kafka.UnknownTopicID},
		{"fewer partitions", PartitionsAdded{ID: kafka.TopicID{1}, Partitions: 3}, kafka.InvalidPartitions},
		{"configs of an unknown topic", TopicConfigsSet{ID: kafka.TopicID{9}}, kafka.UnknownTopicID},
		{"bad configs", TopicConfigsSet{ID: kafka.TopicID{1}, Configs: map[string]string{"cleanup.policy": "compact"}}, kafka.InvalidConfig},
		{"bad broker configs", BrokerConfigsSet{Configs: map[string]string{"log.segment.bytes": "1"}}, kafka.InvalidConfig},
		{"producer ids again", ProducerIDsReserved{Next: 1}, kafka.UnknownServerError},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &memoryLog{}
			s := open(t, log)
			before := commit(t, s, orders, TopicCreated{Name: "a_b", ID: kafka.TopicID{2}, Partitions: 1}, ProducerIDsReserved{Next: 1000})
			end := log.end
			_, err := s.Commit(t.Context(), TopicCreated{Name: "good", ID: kafka.TopicID{7}, Partitions: 1}, c.change)
			if got := kafka.CodeOf(err); err == nil || got != c.code {
				t.Errorf("got %v, want %v", err, c.code)
			}
			if s.Image() != before || log.end != end {
				t.Error("the refused commit left something behind")
			}
		})
	}
}

func TestFailingLog(t *testing.T) {
	t.Run("append", func(t *testing.T) {
		log := &memoryLog{noAppend: errDisk}
		s := open(t, log)
		before := s.Image()
		_, err := s.Commit(t.Context(), orders)
		if kafka.CodeOf(err) != kafka.KafkaStorageError || s.Image() != before {
			t.Errorf("got %v and a changed image: %v", err, s.Image() != before)
		}
		log.noAppend = nil
		commit(t, s, orders)
	})
	t.Run("sync", func(t *testing.T) {
		log := &memoryLog{}
		s := open(t, log)
		log.noSync = errDisk
		for range 2 {
			if _, err := s.Commit(t.Context(), orders); kafka.CodeOf(err) != kafka.KafkaStorageError {
				t.Errorf("got %v", err)
			}
			log.noSync = nil // the disk is well again, but nobody knows what it holds
		}
		if len(s.Image().Topics()) != 0 || log.end != 1 {
			t.Errorf("%d topics, log ends at %d", len(s.Image().Topics()), log.end)
		}
	})
}

func TestCancelledCallerDoesNotTearACommit(t *testing.T) {
	log := &memoryLog{}
	s := open(t, log)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Update(ctx, func(d *Draft) error {
		cancel() // between the plan and the append
		return d.Add(orders)
	})
	if err != nil || len(s.Image().Topics()) != 1 {
		t.Errorf("got %v with %d topics", err, len(s.Image().Topics()))
	}
	if _, err := s.Commit(ctx, TopicDeleted{ID: orders.ID}); err == nil && len(s.Image().Topics()) != 0 {
		t.Error("a commit reported success and changed nothing")
	}
}

func TestSubscribersRunBeforeTheCommitReturns(t *testing.T) {
	s := open(t, &memoryLog{})
	var seen []string
	s.Subscribe(func(old, new *Image) {
		seen = append(seen, fmt.Sprint(len(old.Topics()), len(new.Topics()), s.Image() == new))
	})
	commit(t, s, orders)
	commit(t, s, TopicDeleted{ID: orders.ID})
	if diff := cmp.Diff([]string{"0 1 true", "1 0 true"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentCommittersAreSerialised(t *testing.T) {
	log := &memoryLog{}
	s := open(t, log)
	const committers, each = 8, 25
	var wg sync.WaitGroup
	blocks := make(chan int64, committers*each)
	for range committers {
		wg.Go(func() {
			for range each {
				_, err := s.Update(t.Context(), func(d *Draft) error {
					blocks <- d.NextProducerID
					return d.Add(ProducerIDsReserved{Next: d.NextProducerID + 1000})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(blocks)
	seen := map[int64]bool{}
	for b := range blocks {
		if seen[b] {
			t.Fatalf("producer ids from %d on were given out twice", b)
		}
		seen[b] = true
	}
	if got, want := open(t, log).Image().NextProducerID, int64(committers*each*1000); got != want {
		t.Errorf("after replay the next producer id is %d, want %d", got, want)
	}
}

func TestPlansSeeWhatTheyAdded(t *testing.T) {
	s := open(t, &memoryLog{})
	plan := func(d *Draft) error {
		if err := d.Add(orders); err != nil {
			return err
		}
		if err := d.Add(TopicCreated{Name: "orders", ID: kafka.TopicID{2}, Partitions: 1}); kafka.CodeOf(err) != kafka.TopicAlreadyExists {
			t.Errorf("got %v", err)
		}
		return d.Add(TopicCreated{Name: "more", ID: kafka.TopicID{2}, Partitions: 1})
	}
	if err := s.Try(plan); err != nil || len(s.Image().Topics()) != 0 {
		t.Errorf("got %v, %d topics", err, len(s.Image().Topics()))
	}
	m, err := s.Update(t.Context(), plan)
	if err != nil || len(m.Topics()) != 2 {
		t.Errorf("got %v, %d topics", err, len(m.Topics()))
	}
}

func appendRaw(log *memoryLog, kind, value string) {
	b := record.NewBuilder(record.None).Add(0, []byte(kind), []byte(value)).Batch()
	_, _ = log.Append(b, time.Time{})
}

func TestReplayOfOddRecords(t *testing.T) {
	for _, c := range []struct {
		name, kind, value, want string
	}{
		{"an unknown kind is skipped", "FutureThing", `{"x":1}`, ""},
		{"a null value of an unknown kind is skipped", "", ``, ""},
		{"a known kind that is no JSON", "TopicDeleted", `{`, "read the metadata log: offset 1: TopicDeleted: "},
		{"a known kind of another shape", "TopicCreated", `{"partitions":"many"}`, "read the metadata log: offset 1: TopicCreated: "},
		{"a change that does not fit", "TopicDeleted", `{"id":"` + kafka.TopicID{9}.String() + `"}`, "read the metadata log: offset 1: TopicDeleted: "},
		{"an unknown field is ignored", "ProducerIDsReserved", `{"next":7,"colour":"red"}`, ""},
		{"a quota with fields and keys of later", "QuotaSet", `{"user":{"name":"u","tenant":"t"},"values":{"later_rate":1},"colour":"red"}`, ""},
		{"a quota of a type of later", "QuotaSet", `{"role":{"name":"r"},"values":{"producer_byte_rate":1}}`, "read the metadata log: offset 1: QuotaSet: "},
		{"a quota that is none", "QuotaSet", `{"user":{"name":"u"},"values":{"producer_byte_rate":0}}`, "read the metadata log: offset 1: QuotaSet: "},
		{"a quota above every number", "QuotaSet", `{"user":{"name":"u"},"values":{"producer_byte_rate":1e999}}`, "read the metadata log: offset 1: QuotaSet: "},
		{"an unknown config is kept", "TopicConfigsSet", `{"id":"` + orders.ID.String() + `","configs":{"later.thing":"7"}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &memoryLog{}
			commit(t, open(t, log), orders)
			appendRaw(log, c.kind, c.value)
			core, logs := observer.New(zap.WarnLevel)
			s, err := Open(t.Context(), log, Options{NodeID: 1}, zap.New(core), prometheus.NewRegistry())
			if c.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("got %v, want %s...", err, c.want)
				}
				return
			}
			if err != nil || len(s.Image().Topics()) != 1 {
				t.Errorf("got %v", err)
			}
			unknown := c.kind == "FutureThing" || c.kind == ""
			if n := logs.FilterMessageSnippet("an unknown kind is skipped").Len(); unknown != (n == 1) {
				t.Errorf("%d lines were logged of it", n)
			}
		})
	}
}

func TestOldImagesStayAsTheyWere(t *testing.T) {
	s := open(t, &memoryLog{})
	images := []*Image{s.Image()}
	var sketches []string
	for i := range 300 {
		commit(t, s, TopicCreated{Name: fmt.Sprintf("t%03d", (i*7)%300), ID: kafka.TopicID{1, byte(i), byte(i >> 8), 15: byte(i)}, Partitions: 1})
		images = append(images, s.Image())
	}
	for _, m := range images {
		sketches = append(sketches, sketch(m))
	}
	commit(t, s, BrokerConfigsSet{Configs: map[string]string{"log.retention.ms": "1"}})
	for _, topic := range s.Image().Topics() {
		commit(t, s, TopicDeleted{ID: topic.ID})
	}
	for i, m := range images {
		if len(m.Topics()) != i || sketch(m) != sketches[i] {
			t.Fatalf("image %d was changed later", i)
		}
		for _, topic := range m.Topics() {
			if found, ok := m.TopicByID(topic.ID); !ok || found != topic {
				t.Fatalf("image %d does not find %s by its id", i, topic.Name)
			}
		}
	}
	if m := s.Image(); len(m.Topics()) != 0 || m.Partitions() != 0 {
		t.Errorf("%d topics, %d partitions are left", len(m.Topics()), m.Partitions())
	}
}

func FuzzReplay(f *testing.F) {
	f.Add("TopicCreated", []byte(`{"name":"a","id":"AAAAAAAAAAAAAAAAAAAAAQ","partitions":1}`), []byte{})
	f.Add("BrokerConfigsSet", []byte(`{"broker":"1","configs":{"log.retention.ms":"-1"}}`), []byte{})
	f.Add("QuotaSet", []byte(`{"user":{"default":true},"clientId":{"name":{"bytes":"/w=="}},"values":{"producer_byte_rate":0.5}}`), []byte{})
	f.Add("QuotaSet", []byte(`{"ip":{"name":"a"},"values":{"connection_creation_rate":1},"address":"fe80::1%1"}`), []byte{})
	f.Add("ImageBegan", []byte(`{"changes":0}`), []byte{})
	f.Add("TopicConfigsSet", []byte(`{"id":"AQAAAAAAAAAAAAAAAAAAAA","configs":{"flush.ms":"9"}}`), []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, kind string, value, tail []byte) {
		log := &memoryLog{}
		commit(t, open(t, log), orders)
		appendRaw(log, kind, string(value))
		log.bytes = append(log.bytes, tail...)
		log.end++ // the store believes that the tail is a batch
		if len(tail) == 0 {
			log.end--
		}
		s, err := Open(t.Context(), log, Options{NodeID: 1}, zap.NewNop(), prometheus.NewRegistry())
		if err != nil {
			return
		}
		for _, topic := range s.Image().Topics() {
			if topic.Partitions < 1 || kafka.CheckTopicName(topic.Name) != nil {
				t.Fatalf("replay made %+v", topic)
			}
		}
		for q := range s.Image().Quotas() {
			if err := checkQuotaEntity(q.Entity); err != nil || len(q.Values) == 0 {
				t.Fatalf("replay made %+v: %v", q, err)
			}
		}
	})
}

func BenchmarkCommitTenThousandth(b *testing.B) {
	log := &memoryLog{}
	s, err := Open(b.Context(), log, Options{NodeID: 1}, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	var changes []Change
	for i := range 10_000 {
		changes = append(changes, TopicCreated{Name: fmt.Sprintf("topic-%05d", i), ID: kafka.TopicID{1, byte(i), byte(i >> 8), 15: byte(i)}, Partitions: 1})
	}
	if _, err := s.Commit(b.Context(), changes...); err != nil {
		b.Fatal(err)
	}
	one := TopicCreated{Name: "topic-05000x", ID: kafka.TopicID{2}, Partitions: 1}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Commit(b.Context(), one); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Commit(b.Context(), TopicDeleted{ID: one.ID}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplayTenThousand(b *testing.B) {
	log := &memoryLog{}
	s, err := Open(b.Context(), log, Options{NodeID: 1}, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	var changes []Change
	for i := range 10_000 {
		changes = append(changes, TopicCreated{Name: fmt.Sprintf("topic-%05d", i), ID: kafka.TopicID{1, byte(i), byte(i >> 8), 15: byte(i)}, Partitions: 1})
	}
	if _, err := s.Commit(b.Context(), changes...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Open(b.Context(), log, Options{NodeID: 1}, zap.NewNop(), prometheus.NewRegistry()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestGone finds the topics that are not there any more, also those that were
// made anew.
func TestGone(t *testing.T) {
	s := openWith(t, Options{NodeID: 1})
	id := func(n byte) kafka.TopicID { return kafka.TopicID{n} }
	old := commit(t, s, TopicCreated{Name: "a", ID: id(1), Partitions: 1}, TopicCreated{Name: "b", ID: id(2), Partitions: 1},
		TopicCreated{Name: "c", ID: id(3), Partitions: 1}, TopicCreated{Name: "e", ID: id(4), Partitions: 1})
	next := commit(t, s, TopicDeleted{ID: id(1)}, TopicDeleted{ID: id(3)}, TopicCreated{Name: "c", ID: id(5), Partitions: 1},
		TopicCreated{Name: "d", ID: id(6), Partitions: 1}, PartitionsAdded{ID: id(2), Partitions: 2})
	var gone []string
	for _, topic := range old.Gone(next) {
		gone = append(gone, topic.Name)
	}
	if diff := cmp.Diff([]string{"a", "c"}, gone); diff != "" || len(old.Gone(old)) != 0 {
		t.Error(diff)
	}
}

// TestOwnNames: topics of clients do not get the names of the broker's logs.
func TestOwnNames(t *testing.T) {
	s := openWith(t, Options{NodeID: 1})
	for _, name := range []string{LogPartition.Topic, "__kaasd_groups", "__kaasd_"} {
		_, err := s.Commit(t.Context(), TopicCreated{Name: name, ID: kafka.TopicID{1}, Partitions: 1})
		if kafka.CodeOf(err) != kafka.InvalidTopic {
			t.Errorf("%s: %v", name, err)
		}
	}
}
