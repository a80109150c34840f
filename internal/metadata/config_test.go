package metadata

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

func TestTablesAreSound(t *testing.T) {
	for name, table := range map[string][]*Property{"topics": TopicProperties, "brokers": BrokerProperties} {
		t.Run(name, func(t *testing.T) {
			if !slices.IsSortedFunc(table, func(a, b *Property) int { return strings.Compare(a.Name, b.Name) }) {
				t.Error("the table is not in order of names, so that lookups miss")
			}
			for _, p := range table {
				checkRow(t, p)
			}
		})
	}
}

func checkRow(t *testing.T, p *Property) {
	t.Helper()
	if p.Doc == "" || !strings.HasSuffix(p.Doc, ".") {
		t.Errorf("%s has no sentence", p.Name)
	}
	if got, err := p.Parse(p.Default); !p.NoDefault && (err != nil || got != p.Default) {
		t.Errorf("the default %q of %s is parsed as %q, %v", p.Default, p.Name, got, err)
	}
	for _, s := range p.sources {
		broker, ok := BrokerProperty(s.property)
		if !ok {
			t.Errorf("%s comes from %s, which no broker has", p.Name, s.property)
		} else if s.scale == 1 && !broker.NoDefault && broker.Default != p.Default {
			t.Errorf("%s defaults to %q, its source %s to %q", p.Name, p.Default, broker.Name, broker.Default)
		}
	}
}

func TestParseTopicConfig(t *testing.T) {
	for _, c := range []struct{ name, value, want, fault string }{
		{"retention.ms", "1000", "1000", ""},
		{"retention.ms", " 1000 ", "1000", ""},
		{"retention.ms", "-1", "-1", ""},
		{"retention.ms", "-2", "", "retention.ms=-2 must be between -1 and 9223372036854775807"},
		{"retention.ms", "x", "", `retention.ms="x" must be a whole number of 64 bits`},
		{"retention.ms", "", "", `retention.ms="" must be a whole number of 64 bits`},
		{"retention.ms", "1.5", "", `retention.ms="1.5" must be a whole number of 64 bits`},
		{"retention.ms", "9223372036854775808", "", `retention.ms="9223372036854775808" must be a whole number of 64 bits`},
		{"max.message.bytes", "2147483648", "", "max.message.bytes=2147483648 must be between 0 and 2147483647"},
		{"max.message.bytes", "60", "60", ""},
		{"segment.bytes", "1048575", "", "segment.bytes=1048575 must be between 1048576 and 2147483647"},
		{"min.insync.replicas", "0", "", "min.insync.replicas=0 must be between 1 and 2147483647"},
		{"cleanup.policy", "delete", "delete", ""},
		{"cleanup.policy", "delete,delete", "delete,delete", ""},
		{"cleanup.policy", "", "", "cleanup.policy may not be empty: delete"},
		{"cleanup.policy", "compact", "", "cleanup.policy=compact: this broker does not compact logs (delete is the only cleanup policy)"},
		{"cleanup.policy", "delete, compact", "", "cleanup.policy=compact: this broker does not compact logs (delete is the only cleanup policy)"},
		{"cleanup.policy", "shred", "", `cleanup.policy="shred" must be one of: delete`},
		{"cleanup.policy", "delete,", "", `cleanup.policy="" must be one of: delete`},
		{"compression.type", "zstd", "zstd", ""},
		{"compression.type", "brotli", "", `compression.type="brotli" must be one of: uncompressed, zstd, lz4, snappy, gzip, producer`},
		{"message.timestamp.type", "LogAppendTime", "LogAppendTime", ""},
		{"no.such", "1", "", `"no.such" is not a topic config of this broker`},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			got, err := ParseTopicConfig(c.name, c.value)
			if got != c.want || kafka.MessageOf(err) != c.fault {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && kafka.CodeOf(err) != kafka.InvalidConfig {
				t.Errorf("got code %v", kafka.CodeOf(err))
			}
		})
	}
}

const inside = "listener.name.inside.max.connection.creation.rate"

// The limits of new connections are properties of the broker and of each
// listener; what was altered for a listener that is gone is kept.
func TestConnectionRates(t *testing.T) {
	log := &memoryLog{}
	o := Options{NodeID: 1, Listeners: []string{"INSIDE", "OUT_SIDE"}, Properties: map[string]string{inside: "20"}}
	s := openLog(t, log, o)
	check := func(broker, in, out int64) {
		t.Helper()
		got := s.Image().Broker
		if want := map[string]int64{"INSIDE": in, "OUT_SIDE": out}; got.ConnectionRate != broker || !maps.Equal(got.ConnectionRates, want) {
			t.Errorf("got %d %v, want %d %v", got.ConnectionRate, got.ConnectionRates, broker, want)
		}
	}
	check(math.MaxInt32, 20, math.MaxInt32)
	commit(t, s, BrokerConfigsSet{Configs: map[string]string{"max.connection.creation.rate": "100", inside: "30"}},
		BrokerConfigsSet{Broker: "1", Configs: map[string]string{"listener.name.out_side.max.connection.creation.rate": "7"}})
	check(100, 30, 7)
	var entries []string
	for _, e := range s.Image().BrokerConfigs() {
		if e.Property.Name == inside {
			entries = sources(e)
		}
	}
	if diff := cmp.Diff([]string{"all " + inside + "=30", "all " + inside + "=30", "start " + inside + "=20", "default " + inside + "=2147483647"}, entries); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"0", "-1", "2147483648", "1.5"} {
		if _, err := s.Commit(t.Context(), BrokerConfigsSet{Configs: map[string]string{inside: bad}}); kafka.CodeOf(err) != kafka.InvalidConfig {
			t.Errorf("%s: got %v", bad, err)
		}
	}
	s = openLog(t, log, Options{NodeID: 1})
	if got := s.Image(); got.Broker.ConnectionRate != 100 || got.BrokerOverrides("")[inside] != "30" {
		t.Errorf("got %+v, %v", got.Broker, got.BrokerOverrides(""))
	}
}

func TestParseProperties(t *testing.T) {
	got, err := ParseProperties(map[string]string{"auto.create.topics.enable": "FALSE", "num.partitions": " 8 ", inside: "20"}, []string{"INSIDE"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"auto.create.topics.enable": "false", "num.partitions": "8", inside: "20"}, got); diff != "" {
		t.Error(diff)
	}
	_, err = ParseProperties(map[string]string{"num.partitions": "0", "num.partition": "1", "delete.topic.enable": "yes", inside: "1"}, nil)
	want := "delete.topic.enable=\"yes\" must be true or false\n" + inside + " is not a broker property\nnum.partition is not a broker property\nnum.partitions=0 must be between 1 and 2147483647"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestLists(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{ListWith("a,b", "c"), "a,b,c"},
		{ListWith("a,b", "b,c"), "a,b,c"},
		{ListWith("", "c"), "c"},
		{ListWithout("a,b,c", "b"), "a,c"},
		{ListWithout("a,b", "x"), "a,b"},
		{ListWithout("a", "a"), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func openWith(t *testing.T, o Options) *Store {
	t.Helper()
	return openLog(t, &memoryLog{}, o)
}

func openLog(t *testing.T, log storage.Log, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), log, o, zap.NewNop(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSettings(t *testing.T) {
	defaults := TopicSettings{
		MaxMessageBytes: 1048588, Compression: "producer", TimestampBefore: -1, TimestampAfter: 3600000,
		Log: storage.Config{Flush: storage.FlushInterval, SegmentBytes: 1 << 30, SegmentAge: 7 * 24 * time.Hour, IndexIntervalBytes: 4096,
			RetentionAge: 7 * 24 * time.Hour, RetentionBytes: -1},
	}
	for _, c := range []struct {
		name             string
		start, all, mine map[string]string
		topic            map[string]string
		want             func(*TopicSettings)
	}{
		{name: "defaults", want: func(*TopicSettings) {}},
		{name: "hours at the start", start: map[string]string{"log.retention.hours": "2", "log.roll.hours": "1"},
			want: func(s *TopicSettings) { s.Log.RetentionAge, s.Log.SegmentAge = 2*time.Hour, time.Hour }},
		{name: "ms before minutes before hours", start: map[string]string{"log.retention.hours": "2", "log.retention.minutes": "5", "log.retention.ms": "7"},
			want: func(s *TopicSettings) { s.Log.RetentionAge = 7 * time.Millisecond }},
		{name: "hours without limit", start: map[string]string{"log.retention.hours": "-1"},
			want: func(s *TopicSettings) { s.Log.RetentionAge = -1 }},
		{name: "all brokers over the start", start: map[string]string{"message.max.bytes": "5"}, all: map[string]string{"message.max.bytes": "6"},
			want: func(s *TopicSettings) { s.MaxMessageBytes = 6 }},
		{name: "this broker over all", all: map[string]string{"message.max.bytes": "6"}, mine: map[string]string{"message.max.bytes": "7"},
			want: func(s *TopicSettings) { s.MaxMessageBytes = 7 }},
		{name: "the topic over everything", mine: map[string]string{"message.max.bytes": "7"}, topic: map[string]string{"max.message.bytes": "8"},
			want: func(s *TopicSettings) { s.MaxMessageBytes = 8 }},
		{name: "append time", topic: map[string]string{"message.timestamp.type": "LogAppendTime"},
			want: func(s *TopicSettings) { s.AppendTime, s.Log.AppendTime = true, true }},
		{name: "sync every message", topic: map[string]string{"flush.messages": "1"},
			want: func(s *TopicSettings) { s.Log.Flush = storage.FlushAlways }},
		{name: "sync sooner than the interval", topic: map[string]string{"flush.ms": "10"},
			want: func(s *TopicSettings) { s.Log.Flush = storage.FlushAlways }},
		{name: "sync later than the interval", topic: map[string]string{"flush.ms": "5000"}, want: func(*TopicSettings) {}},
		{name: "longer than time", topic: map[string]string{"segment.ms": maxLong},
			want: func(s *TopicSettings) { s.Log.SegmentAge = -1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openWith(t, Options{NodeID: 1, Flush: storage.FlushInterval, FlushInterval: time.Second, Properties: c.start})
			commit(t, s, TopicCreated{Name: "t", ID: kafka.TopicID{1}, Partitions: 1, Configs: c.topic})
			commit(t, s, BrokerConfigsSet{Configs: c.all}, BrokerConfigsSet{Broker: "1", Configs: c.mine})
			want := defaults
			c.want(&want)
			topic, _ := s.Image().Topic("t")
			if diff := cmp.Diff(want, topic.Settings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFlushIsRaisedNeverLowered(t *testing.T) {
	s := openWith(t, Options{NodeID: 1, Flush: storage.FlushOS, FlushInterval: time.Second})
	commit(t, s, TopicCreated{Name: "t", ID: kafka.TopicID{1}, Partitions: 1, Configs: map[string]string{"flush.ms": "5000"}})
	if topic, _ := s.Image().Topic("t"); topic.Settings.Log.Flush != storage.FlushInterval {
		t.Errorf("got %v", topic.Settings.Log.Flush)
	}
}

func TestBrokerSettings(t *testing.T) {
	s := openWith(t, Options{NodeID: 3, Properties: map[string]string{"num.partitions": "8", "auto.create.topics.enable": "false"}})
	want := BrokerSettings{NumPartitions: 8, ReplicationFactor: 1, DeleteTopics: true, FetchMaxBytes: 57671680,
		Groups: GroupSettings{MinSession: 6 * time.Second, MaxSession: 30 * time.Minute, InitialDelay: 3 * time.Second, MaxSize: math.MaxInt32,
			Retention: 7 * 24 * time.Hour, RetentionPass: 10 * time.Minute, MaxMetadata: 4096},
		ConnectionRate: math.MaxInt32, ConnectionRates: map[string]int64{}}
	if diff := cmp.Diff(want, s.Image().Broker); diff != "" {
		t.Error(diff)
	}
}

// sources is one line per value: where it is from, its name and text.
func sources(e Entry) []string {
	var lines []string
	for _, v := range append([]Value{e.Value}, e.Synonyms...) {
		text := v.Text
		if v.Null {
			text = "null"
		}
		lines = append(lines, map[Source]string{FromTopic: "topic", FromBroker: "broker", FromBrokerDefault: "all", FromStart: "start", FromDefault: "default"}[v.Source]+
			" "+v.Name+"="+text)
	}
	return lines
}

func TestEntriesTellWhereValuesComeFrom(t *testing.T) {
	s := openWith(t, Options{NodeID: 1, Properties: map[string]string{"log.segment.bytes": "2000000", "log.retention.hours": "1"}})
	commit(t, s, TopicCreated{Name: "t", ID: kafka.TopicID{1}, Partitions: 1, Configs: map[string]string{"compression.type": "lz4"}},
		BrokerConfigsSet{Configs: map[string]string{"compression.type": "gzip"}}, BrokerConfigsSet{Broker: "1", Configs: map[string]string{"compression.type": "zstd"}})
	topic, _ := s.Image().Topic("t")
	got := map[string][]string{}
	for _, e := range s.Image().TopicConfigs(topic) {
		got[e.Value.Name] = sources(e)
	}
	for name, want := range map[string][]string{
		"compression.type": {"topic compression.type=lz4", "topic compression.type=lz4", "broker compression.type=zstd", "all compression.type=gzip", "default compression.type=producer"},
		"segment.bytes":    {"start segment.bytes=2000000", "start log.segment.bytes=2000000", "default log.segment.bytes=1073741824"},
		"retention.ms":     {"start retention.ms=3600000"},
		"cleanup.policy":   {"default cleanup.policy=delete", "default log.cleanup.policy=delete"},
		"flush.messages":   {"default flush.messages=" + maxLong},
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, e := range s.Image().BrokerConfigs() {
		got[e.Value.Name] = sources(e)
	}
	for name, want := range map[string][]string{
		"compression.type": {"broker compression.type=zstd", "broker compression.type=zstd", "all compression.type=gzip", "default compression.type=producer"},
		"log.retention.ms": {"default log.retention.ms=null"},
		"node.id":          {"start node.id=1", "start node.id=1", "default node.id=1"},
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	all := s.Image().ClusterConfigs()
	if len(all) != 1 || cmp.Diff([]string{"all compression.type=gzip", "all compression.type=gzip"}, sources(all[0])) != "" {
		t.Errorf("got %+v", all)
	}
}
