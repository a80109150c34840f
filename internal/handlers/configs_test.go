package handlers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/storage/vfs"
)

// operation is "retention.ms=5" (set), "-retention.ms" (delete), "x+=y"
// (append), "x-=y" (subtract); a set without '=' has no value.
func operation(s string) message.IncrementalAlterConfigsConfig {
	if name, ok := strings.CutPrefix(s, "-"); ok {
		return message.IncrementalAlterConfigsConfig{Name: name, ConfigOperation: configDelete}
	}
	for sign, op := range map[string]int8{"+=": configAppend, "-=": configSubtract} {
		if name, value, ok := strings.Cut(s, sign); ok {
			return message.IncrementalAlterConfigsConfig{Name: name, ConfigOperation: op, Value: &value}
		}
	}
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return message.IncrementalAlterConfigsConfig{Name: name}
	}
	return message.IncrementalAlterConfigsConfig{Name: name, Value: &value}
}

// increment is the changes of one resource.
func increment(kind int8, name string, ops ...string) message.IncrementalAlterConfigsResource {
	r := message.IncrementalAlterConfigsResource{ResourceType: kind, ResourceName: name}
	for _, op := range ops {
		r.Configs = append(r.Configs, operation(op))
	}
	return r
}

func TestIncrementalAlterConfigs(t *testing.T) {
	type resources = []message.IncrementalAlterConfigsResource
	for _, c := range []struct {
		name  string
		setup func(*setup)
		ask   resources
		want  []string // code per entry
		after string   // overrides of topic a, then of broker 1, then of all
	}{
		{"set", nil, resources{increment(2, "a", "segment.ms= 7 ")}, []string{"0"}, "map[retention.ms:1000 segment.ms:7] map[] map[]"},
		{"delete", nil, resources{increment(2, "a", "-retention.ms")}, []string{"0"}, "map[] map[] map[]"},
		{"delete what is not set or not known", nil, resources{increment(2, "a", "-segment.ms", "-bogus")}, []string{"0"}, "map[retention.ms:1000] map[] map[]"},
		{"unknown key", nil, resources{increment(2, "a", "segment.ms=7", "bogus=1")}, []string{"40"}, "map[retention.ms:1000] map[] map[]"},
		{"bad value", nil, resources{increment(2, "a", "retention.ms=abc")}, []string{"40"}, "map[retention.ms:1000] map[] map[]"},
		{"no value", nil, resources{increment(2, "a", "retention.ms")}, []string{"42"}, "map[retention.ms:1000] map[] map[]"},
		{"key twice", nil, resources{increment(2, "a", "retention.ms=5", "-retention.ms")}, []string{"42"}, "map[retention.ms:1000] map[] map[]"},
		{"resource twice", nil, resources{increment(2, "a", "retention.ms=5"), increment(2, "a", "segment.ms=5")}, []string{"42", "42"}, "map[retention.ms:1000] map[] map[]"},
		{"append to no list", nil, resources{increment(2, "a", "retention.ms+=5")}, []string{"40"}, "map[retention.ms:1000] map[] map[]"},
		{"append to the default", nil, resources{increment(2, "a", "cleanup.policy+=delete")}, []string{"0"}, "map[cleanup.policy:delete retention.ms:1000] map[] map[]"},
		{"append compact", nil, resources{increment(2, "a", "cleanup.policy+=compact")}, []string{"40"}, "map[retention.ms:1000] map[] map[]"},
		{"subtract everything", nil, resources{increment(2, "a", "cleanup.policy-=delete")}, []string{"40"}, "map[retention.ms:1000] map[] map[]"},
		{"unknown topic", nil, resources{increment(2, "x", "retention.ms=5"), increment(2, "a", "retention.ms=5")}, []string{"3", "0"}, "map[retention.ms:5] map[] map[]"},
		{"unknown topic, bad value", nil, resources{increment(2, "x", "retention.ms=abc")}, []string{"40"}, "map[retention.ms:1000] map[] map[]"},
		{"unknown topic, delete", nil, resources{increment(2, "x", "-retention.ms")}, []string{"3"}, "map[retention.ms:1000] map[] map[]"},
		{"other types", nil, resources{increment(0, "a", "a=1"), increment(1, "a", "a=1"), increment(8, "1", "a=1"), increment(16, "m", "a=1"), increment(32, "g", "a=1"), increment(99, "z", "a=1")},
			[]string{"42", "42", "42", "42", "42", "42"}, "map[retention.ms:1000] map[] map[]"},
		{"broker", nil, resources{increment(4, "1", "log.retention.ms=9"), increment(4, "", "message.max.bytes=8")}, []string{"0", "0"}, "map[retention.ms:1000] map[log.retention.ms:9] map[message.max.bytes:8]"},
		{"broker faults", nil, resources{increment(4, "99", "log.retention.ms=9"), increment(4, "abc", "log.retention.ms=9"), increment(4, "1", "node.id=2"), increment(4, "", "log.segment.bytes=abc")},
			[]string{"42", "42", "42", "42"}, "map[retention.ms:1000] map[] map[]"},
		{"unknown broker property", nil, resources{increment(4, "1", "bogus=2")}, []string{"40"}, "map[retention.ms:1000] map[] map[]"},
		{"broker without limit", nil, resources{increment(4, "1", "log.retention.ms=-5")}, []string{"0"}, "map[retention.ms:1000] map[log.retention.ms:-5] map[]"},
		{"not allowed", withAuthorizer("ALTER_CONFIGS TOPIC:a"), resources{increment(2, "a", "retention.ms=5"), increment(2, "b", "retention.ms=5"), increment(4, "1", "log.retention.ms=9")},
			[]string{"0", "29", "31"}, "map[retention.ms:5] map[] map[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(s *setup) {
				if c.setup != nil {
					c.setup(s)
				}
			})
			r.topic("a", 1, "retention.ms", "1000")
			r.topic("b", 1)
			before := r.Metadata.Image()
			for _, validate := range []bool{true, false} {
				var resp message.IncrementalAlterConfigsResponse
				r.connect(plainListener).get(kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: c.ask, ValidateOnly: validate}, &resp)
				var got []string
				for i, result := range resp.Responses {
					got = append(got, fmt.Sprint(int16(result.ErrorCode)))
					if result.ResourceName != c.ask[i].ResourceName || result.ResourceType != c.ask[i].ResourceType || (result.ErrorMessage == nil) != (result.ErrorCode == 0) {
						t.Errorf("got %+v", result)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if validate && r.Metadata.Image() != before {
					t.Error("validate only changed something")
				}
			}
			m := r.Metadata.Image()
			topic, _ := m.Topic("a")
			if got := fmt.Sprint(topic.Configs, m.BrokerOverrides("1"), m.BrokerOverrides("")); got != c.after {
				t.Errorf("got  %s\nwant %s", got, c.after)
			}
		})
	}
}

func TestAlterConfigsReplaces(t *testing.T) {
	set := func(kind int8, name string, configs ...string) message.AlterConfigsResource {
		r := message.AlterConfigsResource{ResourceType: kind, ResourceName: name}
		for _, c := range configs {
			op := operation(c)
			r.Configs = append(r.Configs, message.AlterConfigsConfig{Name: op.Name, Value: op.Value})
		}
		return r
	}
	for _, c := range []struct {
		name  string
		ask   message.AlterConfigsResource
		code  kafka.Code
		after string
	}{
		{"a topic", set(2, "a", "segment.bytes=2000000"), 0, "map[segment.bytes:2000000] map[log.retention.ms:9]"},
		{"a topic of everything", set(2, "a"), 0, "map[] map[log.retention.ms:9]"},
		{"a broker", set(4, "1", "message.max.bytes=7"), 0, "map[retention.ms:1000] map[message.max.bytes:7]"},
		{"unknown key", set(2, "a", "bogus=1"), 40, "map[retention.ms:1000] map[log.retention.ms:9]"},
		{"no value", set(2, "a", "retention.ms"), 42, "map[retention.ms:1000] map[log.retention.ms:9]"},
		{"unknown topic", set(2, "x", "retention.ms=1"), 3, "map[retention.ms:1000] map[log.retention.ms:9]"},
		{"unknown type", set(7, "x", "retention.ms=1"), 42, "map[retention.ms:1000] map[log.retention.ms:9]"},
	} {
		for version := range int16(3) {
			t.Run(fmt.Sprintf("%s, version %d", c.name, version), func(t *testing.T) {
				r := newRig(t)
				r.topic("a", 1, "retention.ms", "1000")
				if _, err := r.Metadata.Commit(t.Context(), metadata.BrokerConfigsSet{Broker: "1", Configs: map[string]string{"log.retention.ms": "9"}}); err != nil {
					t.Fatal(err)
				}
				var resp message.AlterConfigsResponse
				r.connect(plainListener).get(kafka.KeyAlterConfigs, version, &message.AlterConfigsRequest{Resources: []message.AlterConfigsResource{c.ask}}, &resp)
				if got := resp.Responses[0].ErrorCode; got != c.code {
					t.Errorf("got %d, want %d: %s", got, c.code, deref(resp.Responses[0].ErrorMessage))
				}
				m := r.Metadata.Image()
				topic, _ := m.Topic("a")
				if got := fmt.Sprint(topic.Configs, m.BrokerOverrides("1")); got != c.after {
					t.Errorf("got  %s\nwant %s", got, c.after)
				}
			})
		}
	}
}

// A change is in force when it is answered: in the settings that produce reads.
func TestConfigsAreInForceAtOnce(t *testing.T) {
	r := newRig(t)
	r.topic("a", 1)
	c := r.connect(plainListener)
	settings := func() metadata.TopicSettings {
		topic, _ := r.Metadata.Image().Topic("a")
		return topic.Settings
	}
	c.get(kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{
		increment(4, "", "message.max.bytes=500", "log.roll.ms=60000")}}, &message.IncrementalAlterConfigsResponse{})
	if got := settings(); got.MaxMessageBytes != 500 || got.Log.SegmentAge != time.Minute {
		t.Errorf("got %+v", got)
	}
	c.get(kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{
		increment(2, "a", "max.message.bytes=600")}}, &message.IncrementalAlterConfigsResponse{})
	if got := settings(); got.MaxMessageBytes != 600 {
		t.Errorf("got %+v", got)
	}
}

func TestDescribeConfigs(t *testing.T) {
	type resource = message.DescribeConfigsResource
	for _, c := range []struct {
		name  string
		setup func(*setup)
		ask   []resource
		want  []string // code, then name=value(source,type)
	}{
		{"a topic", nil, []resource{{ResourceType: 2, ResourceName: "a", ConfigurationKeys: []string{"retention.ms", "bogus", "cleanup.policy", "retention.ms"}}},
			[]string{"0 cleanup.policy=delete(5,7) retention.ms=1000(1,5)"}},
		{"no keys", nil, []resource{{ResourceType: 2, ResourceName: "a", ConfigurationKeys: []string{}}}, []string{"0"}},
		{"names", nil, []resource{{ResourceType: 2, ResourceName: "x"}, {ResourceType: 2, ResourceName: ""}, {ResourceType: 2, ResourceName: "a b"}, {ResourceType: 2, ResourceName: "x"}},
			[]string{"3", "17", "17"}},
		{"other types", nil, []resource{{ResourceType: 0, ResourceName: "x"}, {ResourceType: 1, ResourceName: "x"}, {ResourceType: 3, ResourceName: "x"}, {ResourceType: 99, ResourceName: "x"}},
			[]string{"42", "42", "42", "42"}},
		{"loggers", nil, []resource{{ResourceType: 8, ResourceName: "1"}, {ResourceType: 8, ResourceName: "zzz"}, {ResourceType: 8, ResourceName: ""}}, []string{"0", "42", "42"}},
		{"a broker", nil, []resource{{ResourceType: 4, ResourceName: "1", ConfigurationKeys: []string{"log.retention.ms", "message.max.bytes", "node.id", "num.partitions"}}},
			[]string{"0 log.retention.ms=9(2,5) message.max.bytes=8(3,3) node.id=1(4,3,fixed) num.partitions=1(5,3,fixed)"}},
		{"all brokers", nil, []resource{{ResourceType: 4, ResourceName: ""}}, []string{"0 message.max.bytes=8(3,3)"}},
		{"no such broker", nil, []resource{{ResourceType: 4, ResourceName: "99"}, {ResourceType: 4, ResourceName: "abc"}}, []string{"42", "42"}},
		{"not allowed", withAuthorizer("DESCRIBE_CONFIGS TOPIC:a"), []resource{{ResourceType: 2, ResourceName: "a", ConfigurationKeys: []string{"retention.ms"}}, {ResourceType: 2, ResourceName: "x"}, {ResourceType: 4, ResourceName: "1"}},
			[]string{"0 retention.ms=1000(1,5)", "29", "31"}},
		{"nothing", nil, []resource{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(s *setup) {
				if c.setup != nil {
					c.setup(s)
				}
			})
			r.topic("a", 1, "retention.ms", "1000")
			if _, err := r.Metadata.Commit(t.Context(), metadata.BrokerConfigsSet{Broker: "1", Configs: map[string]string{"log.retention.ms": "9"}},
				metadata.BrokerConfigsSet{Configs: map[string]string{"message.max.bytes": "8"}}); err != nil {
				t.Fatal(err)
			}
			var resp message.DescribeConfigsResponse
			r.connect(plainListener).get(kafka.KeyDescribeConfigs, 4, &message.DescribeConfigsRequest{Resources: c.ask}, &resp)
			var got []string
			for _, result := range resp.Results {
				got = append(got, describeLine(result))
				if result.ErrorCode == 0 && deref(result.ErrorMessage) != "" {
					t.Errorf("a success has the message %q", deref(result.ErrorMessage))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func describeLine(r message.DescribeConfigsResponseResult) string {
	line := fmt.Sprint(int16(r.ErrorCode))
	for _, c := range r.Configs {
		fixed := ""
		if c.ReadOnly {
			fixed = ",fixed"
		}
		line += fmt.Sprintf(" %s=%s(%d,%d%s)", c.Name, deref(c.Value), c.ConfigSource, c.ConfigType, fixed)
	}
	return line
}

func TestDescribeConfigsInFull(t *testing.T) {
	r := newRig(t)
	r.topic("a", 1, "compression.type", "zstd")
	c := r.connect(plainListener)
	for version := int16(1); version <= 4; version++ {
		var resp message.DescribeConfigsResponse
		c.get(kafka.KeyDescribeConfigs, version, &message.DescribeConfigsRequest{
			Resources: []message.DescribeConfigsResource{{ResourceType: 2, ResourceName: "a"}}, IncludeSynonyms: true, IncludeDocumentation: true}, &resp)
		configs := resp.Results[0].Configs
		if len(configs) != len(metadata.TopicProperties) {
			t.Fatalf("version %d: %d configs", version, len(configs))
		}
		i := slices.IndexFunc(configs, func(c message.DescribeConfigsResponseConfig) bool { return c.Name == "compression.type" })
		want := []message.DescribeConfigsResponseSynonym{{Name: "compression.type", Value: ptr("zstd"), Source: 1}, {Name: "compression.type", Value: ptr("producer"), Source: 5}}
		if diff := cmp.Diff(want, configs[i].Synonyms); diff != "" {
			t.Error(diff)
		}
		if told := configs[i].Documentation != nil; told != (version >= 3) {
			t.Errorf("version %d tells what the config is for: %v", version, told)
		}
	}
	var broker message.DescribeConfigsResponse
	c.get(kafka.KeyDescribeConfigs, 4, &message.DescribeConfigsRequest{Resources: []message.DescribeConfigsResource{{ResourceType: 4, ResourceName: "1", ConfigurationKeys: []string{"log.retention.ms"}}}, IncludeSynonyms: true}, &broker)
	want := message.DescribeConfigsResponseConfig{Name: "log.retention.ms", ConfigSource: 5, ConfigType: 5, Synonyms: []message.DescribeConfigsResponseSynonym{}}
	if diff := cmp.Diff(want, broker.Results[0].Configs[0]); diff != "" {
		t.Error(diff)
	}
}

// TestConfigsEndWithTheirTopic: a topic of the same name begins with none, at
// once and after restarts.
func TestConfigsEndWithTheirTopic(t *testing.T) {
	fs := vfs.Memory()
	overrides := func(r *rig) map[string]string {
		topic, ok := r.Metadata.Image().Topic("a")
		if !ok {
			t.Fatal("the topic is not there")
		}
		return topic.Configs
	}
	r := newRig(t, onDisk(fs))
	first := r.topic("a", 1, "retention.ms", "1000")
	r.commit(metadata.TopicConfigsSet{ID: first.ID, Configs: map[string]string{"retention.ms": "2000", "segment.ms": "7"}})
	r.stop()
	r = newRig(t, onDisk(fs))
	if got := overrides(r); len(got) != 2 {
		t.Errorf("after a restart: %v", got)
	}
	r.commit(metadata.TopicDeleted{ID: first.ID})
	r.stop()
	r = newRig(t, onDisk(fs))
	r.topic("a", 1)
	if got := overrides(r); len(got) != 0 {
		t.Errorf("made again: %v", got)
	}
	r.stop()
	if got := overrides(newRig(t, onDisk(fs))); len(got) != 0 {
		t.Errorf("made again, after a restart: %v", got)
	}
}

// TestLogLevel: the level of the log is a config, in force at once.
func TestLogLevel(t *testing.T) {
	r := newRig(t)
	level := zap.NewAtomicLevelAt(zap.InfoLevel)
	r.LogLevel = &level
	p := r.connect(plainListener)
	alter := func(validateOnly bool, name string, ops ...string) kafka.Code {
		resp := new(message.IncrementalAlterConfigsResponse)
		p.get(kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{
			Resources: []message.IncrementalAlterConfigsResource{increment(configBrokerLogger, name, ops...)}, ValidateOnly: validateOnly}, resp)
		return resp.Responses[0].ErrorCode
	}
	for _, c := range []struct {
		validateOnly bool
		name, op     string
		want         kafka.Code
		level        string
	}{
		{false, "1", "root=DEBUG", 0, "DEBUG"},
		{true, "1", "root=ERROR", 0, "DEBUG"},
		{false, "1", "root= warn ", 0, "WARN"},
		{false, "1", "root=TRACE", 40, "WARN"},
		{false, "1", "root", 42, "WARN"},
		{false, "1", "-root", 42, "WARN"},
		{false, "1", "root+=DEBUG", 42, "WARN"},
		{false, "1", "kafka=DEBUG", 40, "WARN"},
		{false, "2", "root=DEBUG", 42, "WARN"},
		{false, "", "root=DEBUG", 42, "WARN"},
	} {
		if got := alter(c.validateOnly, c.name, c.op); got != c.want || level.Level().CapitalString() != c.level {
			t.Errorf("%s of %q: got %v and %s, want %v and %s", c.op, c.name, got, level, c.want, c.level)
		}
	}
	resp := new(message.DescribeConfigsResponse)
	p.get(kafka.KeyDescribeConfigs, 4, &message.DescribeConfigsRequest{Resources: []message.DescribeConfigsResource{{ResourceType: configBrokerLogger, ResourceName: "1"}}}, resp)
	want := []message.DescribeConfigsResponseConfig{{Name: "root", Value: ptr("WARN"), ConfigSource: 6, ConfigType: 2, Synonyms: []message.DescribeConfigsResponseSynonym{}}}
	if diff := cmp.Diff(want, resp.Results[0].Configs); diff != "" {
		t.Error(diff)
	}
	r.Authorizer = only{}
	if got := alter(false, "1", "root=DEBUG"); got != kafka.ClusterAuthorizationFailed || level.Level() != zap.WarnLevel {
		t.Errorf("without the right: %v, %s", got, level)
	}
}
