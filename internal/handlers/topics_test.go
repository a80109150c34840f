package handlers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/storage"
)

func withProperties(properties map[string]string) func(*setup) {
	return func(s *setup) { s.properties = properties }
}

func withAuthorizer(allowed ...string) func(*setup) {
	return func(s *setup) { s.authorizer = only(allowed) }
}

// newTopic is a topic as a request asks for it: configs are name=value, a bare
// name has no value.
func newTopic(name string, partitions int32, factor int16, configs ...string) message.CreateTopicsTopic {
	t := message.CreateTopicsTopic{Name: name, NumPartitions: partitions, ReplicationFactor: factor}
	for _, c := range configs {
		key, value, set := strings.Cut(c, "=")
		config := message.CreateTopicsConfig{Name: key}
		if set {
			config.Value = &value
		}
		t.Configs = append(t.Configs, config)
	}
	return t
}

// placed is a topic with a manual assignment of partition to brokers.
func placed(name string, partitions int32, factor int16, brokers ...[]int32) message.CreateTopicsTopic {
	t := newTopic(name, partitions, factor)
	for _, b := range brokers {
		t.Assignments = append(t.Assignments, message.CreateTopicsAssignment{PartitionIndex: b[0], BrokerIDs: b[1:]})
	}
	return t
}

func TestCreateTopics(t *testing.T) {
	for _, c := range []struct {
		name   string
		setup  func(*setup)
		topics []message.CreateTopicsTopic
		want   []string // name, code, partitions, replication factor
	}{
		{"plain", nil, []message.CreateTopicsTopic{newTopic("x", 3, 1)}, []string{"x 0 3 1"}},
		{"the broker's defaults", withProperties(map[string]string{"num.partitions": "6"}), []message.CreateTopicsTopic{newTopic("x", -1, -1)}, []string{"x 0 6 1"}},
		{"a default factor of 3", withProperties(map[string]string{"default.replication.factor": "3"}), []message.CreateTopicsTopic{newTopic("x", 1, -1)}, []string{"x 38 -1 -1"}},
		{"no partitions", nil, []message.CreateTopicsTopic{newTopic("x", 0, 1), newTopic("y", -2, 1)}, []string{"x 37 -1 -1", "y 37 -1 -1"}},
		{"too many partitions", nil, []message.CreateTopicsTopic{newTopic("x", 1<<31-1, 1)}, []string{"x 37 -1 -1"}},
		{"other factors", nil, []message.CreateTopicsTopic{newTopic("x", 1, 0), newTopic("y", 1, -2), newTopic("z", 1, 3)},
			[]string{"x 38 -1 -1", "y 38 -1 -1", "z 38 -1 -1"}},
		{"exists before counts", nil, []message.CreateTopicsTopic{newTopic("there", 0, 7)}, []string{"there 36 -1 -1"}},
		{"names", nil, []message.CreateTopicsTopic{newTopic("", 1, 1), newTopic("a b", 1, 1), newTopic("..", 1, 1), newTopic(strings.Repeat("x", 250), 1, 1), newTopic("__kaasd_metadata", 1, 1)},
			[]string{" 17 -1 -1", "a b 17 -1 -1", ".. 17 -1 -1", strings.Repeat("x", 250) + " 17 -1 -1", "__kaasd_metadata 17 -1 -1"}},
		{"collisions", nil, []message.CreateTopicsTopic{newTopic("dot.ted", 1, 1), newTopic("p.q_r", 1, 1), newTopic("p_q.r", 1, 1)},
			[]string{"dot.ted 17 -1 -1", "p.q_r 0 1 1", "p_q.r 17 -1 -1"}},
		{"twice", nil, []message.CreateTopicsTopic{newTopic("x", 1, 1), newTopic("y", 1, 1), newTopic("x", 2, 1)}, []string{"x 42 -1 -1", "y 0 1 1"}},
		{"configs", nil, []message.CreateTopicsTopic{newTopic("x", 1, 1, "retention.ms=1"), newTopic("y", 1, 1, "bogus=1"), newTopic("z", 1, 1, "retention.ms=abc"),
			newTopic("n", 1, 1, "retention.ms"), newTopic("c", 1, 1, "cleanup.policy=compact"), newTopic("cd", 1, 1, "cleanup.policy=compact,delete")},
			[]string{"x 0 1 1", "y 40 -1 -1", "z 40 -1 -1", "n 40 -1 -1", "c 40 -1 -1", "cd 40 -1 -1"}},
		{"a config twice", nil, []message.CreateTopicsTopic{newTopic("x", 1, 1, "retention.ms=1", "retention.ms=2")}, []string{"x 0 1 1"}},
		{"assignment", nil, []message.CreateTopicsTopic{placed("x", -1, -1, []int32{1, 1}, []int32{0, 1})}, []string{"x 0 2 1"}},
		{"assignment with counts", nil, []message.CreateTopicsTopic{placed("x", 1, -1, []int32{0, 1}), placed("y", -1, 1, []int32{0, 1})}, []string{"x 42 -1 -1", "y 42 -1 -1"}},
		{"bad assignments", nil, []message.CreateTopicsTopic{
			placed("gap", -1, -1, []int32{0, 1}, []int32{2, 1}), placed("twice", -1, -1, []int32{0, 1}, []int32{0, 1}),
			placed("elsewhere", -1, -1, []int32{0, 2}), placed("two", -1, -1, []int32{0, 1, 1}), placed("none", -1, -1, []int32{0}), placed("below", -1, -1, []int32{-1, 1})},
			[]string{"gap 39 -1 -1", "twice 39 -1 -1", "elsewhere 39 -1 -1", "two 39 -1 -1", "none 39 -1 -1", "below 39 -1 -1"}},
		{"not allowed", withAuthorizer("CREATE TOPIC:x", "DESCRIBE_CONFIGS TOPIC:x", "CREATE TOPIC:blind"),
			[]message.CreateTopicsTopic{newTopic("x", 1, 1), newTopic("y", 1, 1), newTopic("blind", 1, 1)}, []string{"x 0 1 1", "y 29 -1 -1", "blind 0 -1 -1"}},
		{"nothing", nil, nil, []string{}},
	} {
		for _, validate := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, validate only %v", c.name, validate), func(t *testing.T) {
				r := newRig(t, func(s *setup) {
					if c.setup != nil {
						c.setup(s)
					}
				})
				r.topic("there", 1)
				r.topic("dot_ted", 1)
				var resp message.CreateTopicsResponse
				r.connect(plainListener).get(kafka.KeyCreateTopics, 7, &message.CreateTopicsRequest{Topics: c.topics, ValidateOnly: validate}, &resp)
				got := []string{}
				for _, topic := range resp.Topics {
					got = append(got, fmt.Sprintf("%s %d %d %d", topic.Name, topic.ErrorCode, topic.NumPartitions, topic.ReplicationFactor))
					made, ok := r.Metadata.Image().Topic(topic.Name)
					if want := topic.ErrorCode == 0 && !validate || topic.ErrorCode == 36 || topic.Name == "dot_ted"; ok != want {
						t.Errorf("%s: there %v, want %v", topic.Name, ok, want)
					} else if ok && topic.ErrorCode == 0 && made.ID != topic.TopicID {
						t.Errorf("%s: the answer tells another id", topic.Name)
					}
					if (topic.ErrorMessage == nil) != (topic.ErrorCode == 0) {
						t.Errorf("%s: code %d with the message %q", topic.Name, topic.ErrorCode, deref(topic.ErrorMessage))
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestCreateTopicsTellsConfigs(t *testing.T) {
	r := newRig(t)
	var resp message.CreateTopicsResponse
	r.connect(plainListener).get(kafka.KeyCreateTopics, 5, &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{newTopic("x", 1, 1, "retention.ms= 5 ")}}, &resp)
	configs := resp.Topics[0].Configs
	if len(configs) != len(metadata.TopicProperties) {
		t.Fatalf("%d configs are told", len(configs))
	}
	for _, config := range configs {
		want, source := "", int8(metadata.FromDefault)
		if p, _ := metadata.TopicProperty(config.Name); p != nil {
			want = p.Default
		}
		if config.Name == "retention.ms" {
			want, source = "5", int8(metadata.FromTopic)
		}
		if deref(config.Value) != want || config.ConfigSource != source || config.ReadOnly {
			t.Errorf("got %+v with %q, want %q", config, deref(config.Value), want)
		}
	}
	var blind message.CreateTopicsResponse
	newRig(t, withAuthorizer("CREATE TOPIC:x")).connect(plainListener).get(kafka.KeyCreateTopics, 5,
		&message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{newTopic("x", 1, 1)}}, &blind)
	if got := blind.Topics[0]; got.ErrorCode != 0 || got.TopicConfigErrorCode != kafka.TopicAuthorizationFailed || len(got.Configs) != 0 {
		t.Errorf("got %+v", got)
	}
}

func byName(names ...string) []message.DeleteTopicsTopic {
	var topics []message.DeleteTopicsTopic
	for _, name := range names {
		topics = append(topics, message.DeleteTopicsTopic{Name: &name})
	}
	return topics
}

func TestDeleteTopics(t *testing.T) {
	id := kafka.TopicID{7}
	for _, c := range []struct {
		name    string
		version int16
		setup   func(*setup)
		req     message.DeleteTopicsRequest
		want    []string // name, code
		left    []string
	}{
		{"by name", 6, nil, message.DeleteTopicsRequest{Topics: byName("a", "x")}, []string{"a 0", "x 3"}, []string{"b", "c"}},
		{"old versions", 1, nil, message.DeleteTopicsRequest{TopicNames: []string{"a", "x", "c"}}, []string{"a 0", "x 3", "c 0"}, []string{"b"}},
		{"by id", 6, nil, message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{TopicID: id}, {TopicID: kafka.TopicID{9}}}}, []string{"b 0", "(null) 100"}, []string{"a", "c"}},
		{"twice", 6, nil, message.DeleteTopicsRequest{Topics: byName("a", "c", "a")}, []string{"a 42", "c 0"}, []string{"a", "b"}},
		{"twice by id", 6, nil, message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{TopicID: id}, {TopicID: id}}}, []string{"(null) 42"}, []string{"a", "b", "c"}},
		{"by name and by id", 6, nil, message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{TopicID: id}, {Name: ptr("b")}}}, []string{"b 0", "b 3"}, []string{"a", "c"}},
		{"both", 6, nil, message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{Name: ptr("b"), TopicID: id}}}, []string{"b 42"}, []string{"a", "b", "c"}},
		{"neither", 6, nil, message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{}, {}}}, []string{"(null) 42", "(null) 42"}, []string{"a", "b", "c"}},
		{"disabled", 6, withProperties(map[string]string{"delete.topic.enable": "false"}), message.DeleteTopicsRequest{Topics: byName("a", "x")}, []string{"a 73", "x 3"}, []string{"a", "b", "c"}},
		{"disabled, of old", 2, withProperties(map[string]string{"delete.topic.enable": "false"}), message.DeleteTopicsRequest{TopicNames: []string{"a"}}, []string{"a 42"}, []string{"a", "b", "c"}},
		{"not allowed", 6, withAuthorizer("DELETE TOPIC:a"), message.DeleteTopicsRequest{Topics: append(byName("a", "c", "x"), message.DeleteTopicsTopic{TopicID: id})},
			[]string{"a 0", "c 29", "x 29", "(null) 29"}, []string{"b", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(s *setup) {
				if c.setup != nil {
					c.setup(s)
				}
			})
			r.topic("a", 2)
			if _, err := r.Metadata.Commit(t.Context(), metadata.TopicCreated{Name: "b", ID: id, Partitions: 1}); err != nil {
				t.Fatal(err)
			}
			r.topic("c", 1)
			var resp message.DeleteTopicsResponse
			r.connect(plainListener).get(kafka.KeyDeleteTopics, c.version, &c.req, &resp)
			got, left := []string{}, []string{}
			for _, topic := range resp.Responses {
				got = append(got, fmt.Sprintf("%s %d", deref(topic.Name), topic.ErrorCode))
			}
			for _, topic := range r.Metadata.Image().Topics() {
				left = append(left, topic.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Error("left: ", diff)
			}
		})
	}
}

// A topic that is made again is another topic, and its old log is gone.
func TestTopicsMadeAgain(t *testing.T) {
	r := newRig(t)
	c := r.connect(plainListener)
	first := r.topic("a", 1)
	if _, err := r.logs.find(first, 0); err != nil {
		t.Fatal(err)
	}
	c.get(kafka.KeyDeleteTopics, 6, &message.DeleteTopicsRequest{Topics: byName("a")}, &message.DeleteTopicsResponse{})
	if _, err := r.logs.find(first, 0); kafka.CodeOf(err) != kafka.UnknownTopicOrPartition {
		t.Errorf("the log of a deleted topic: %v", err)
	}
	second := r.topic("a", 1)
	if second.ID == first.ID {
		t.Error("the topic has the id of the one before")
	}
	if _, err := r.logs.find(second, 0); err != nil {
		t.Error(err)
	}
}

func TestCreatePartitions(t *testing.T) {
	ask := func(name string, count int32, brokers ...int32) message.CreatePartitionsTopic {
		topic := message.CreatePartitionsTopic{Name: name, Count: count}
		for _, b := range brokers {
			topic.Assignments = append(topic.Assignments, message.CreatePartitionsAssignment{BrokerIDs: []int32{b}})
		}
		return topic
	}
	for _, c := range []struct {
		name   string
		setup  func(*setup)
		topics []message.CreatePartitionsTopic
		want   []string // name, code, count afterwards
	}{
		{"more", nil, []message.CreatePartitionsTopic{ask("a", 5)}, []string{"a 0 5"}},
		{"as many, fewer", nil, []message.CreatePartitionsTopic{ask("a", 2), ask("b", 1)}, []string{"a 37 2", "b 37 2"}},
		{"too many", nil, []message.CreatePartitionsTopic{ask("a", 1<<31-1)}, []string{"a 37 2"}},
		{"unknown", nil, []message.CreatePartitionsTopic{ask("x", 5), ask("a", 3)}, []string{"x 3 0", "a 0 3"}},
		{"assigned", nil, []message.CreatePartitionsTopic{ask("a", 4, 1, 1)}, []string{"a 0 4"}},
		{"assigned in part", nil, []message.CreatePartitionsTopic{ask("a", 4, 1)}, []string{"a 39 2"}},
		{"assigned elsewhere", nil, []message.CreatePartitionsTopic{ask("a", 3, 2)}, []string{"a 39 2"}},
		{"twice", nil, []message.CreatePartitionsTopic{ask("a", 3), ask("a", 4)}, []string{"a 42 2"}},
		{"not allowed", withAuthorizer("ALTER TOPIC:a"), []message.CreatePartitionsTopic{ask("a", 3), ask("b", 3), ask("x", 3)}, []string{"a 0 3", "b 29 2", "x 29 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(s *setup) {
				if c.setup != nil {
					c.setup(s)
				}
			})
			r.topic("a", 2)
			r.topic("b", 2)
			conn := r.connect(plainListener)
			before := r.Metadata.Image()
			conn.get(kafka.KeyCreatePartitions, 3, &message.CreatePartitionsRequest{Topics: c.topics, ValidateOnly: true}, &message.CreatePartitionsResponse{})
			if r.Metadata.Image() != before {
				t.Error("validate only changed something")
			}
			var resp message.CreatePartitionsResponse
			conn.get(kafka.KeyCreatePartitions, 3, &message.CreatePartitionsRequest{Topics: c.topics}, &resp)
			got := []string{}
			for _, result := range resp.Results {
				count := int32(0)
				if topic, ok := r.Metadata.Image().Topic(result.Name); ok {
					count = topic.Partitions
				}
				got = append(got, fmt.Sprintf("%s %d %d", result.Name, result.ErrorCode, count))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A log that is open follows the partitions and configs of its topic.
func TestOpenLogsFollowTheirTopic(t *testing.T) {
	r := newRig(t, func(s *setup) { s.flush = storage.FlushInterval })
	topic := r.topic("a", 1)
	if _, err := r.logs.find(topic, 1); kafka.CodeOf(err) != kafka.UnknownTopicOrPartition {
		t.Errorf("got %v", err)
	}
	m, err := r.Metadata.Commit(t.Context(), metadata.PartitionsAdded{ID: topic.ID, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	grown, _ := m.Topic("a")
	if _, err := r.logs.find(grown, 1); err != nil {
		t.Error(err)
	}
}

// As many names as a request has room for are judged in one pass; in pairs they
// would take an hour, and this test would not end.
func TestNamesInOnePass(t *testing.T) {
	const n = 1 << 20
	names, words := make([]string, n), make([]message.DeleteTopicsTopic, n)
	for i := range names {
		names[i] = fmt.Sprint(n + i/2) // each one twice
		words[i].Name = &names[i]
	}
	if got := len(repeated(names)); got != n/2 {
		t.Errorf("%d names are repeated, want %d", got, n/2)
	}
	distinct, again := 0, 0
	for range firsts(names) {
		distinct++
	}
	for _, gone := range refuseRepeated(words) {
		if gone.err == nil {
			t.Fatal("a name that stands twice is not refused")
		}
		if gone.again {
			again++
		}
	}
	if distinct != n/2 || again != n/2 {
		t.Errorf("%d distinct names and %d that stood before, want %d of each", distinct, again, n/2)
	}
}
