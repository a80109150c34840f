package handlers

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// perSecond is a rig in virtual time where everybody may make or delete so many
// partitions a second, and save them up for some windows of a second.
func perSecond(t *testing.T, rate float64, windows int, f func(t *testing.T, r *rig), choose ...func(*setup)) {
	t.Helper()
	w := quota.DefaultWindows()
	w.MutationNum = windows
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, append(choose, func(s *setup) { s.windows = &w })...)
		r.set(entry("user", kafka.ControllerMutationRate, rate))
		f(t, r)
	})
}

// create asks for topics of so many partitions and gives what became of them and
// the throttle: "0 89, 4000 ms".
func (p *peer) create(version int16, partitions ...int32) string {
	p.t.Helper()
	req := &message.CreateTopicsRequest{}
	for _, n := range partitions {
		req.Topics = append(req.Topics, newTopic(fmt.Sprintf("t%d-%d", p.next, len(req.Topics)), n, 1))
	}
	return p.mutation(kafka.KeyCreateTopics, version, req)
}

// mutation sends a request that makes or deletes partitions.
func (p *peer) mutation(key kafka.APIKey, version int16, req codec.Message) string {
	p.t.Helper()
	r := p.ask(key, version, req)
	var codes []string
	told := func(code kafka.Code, text *string) {
		codes = append(codes, fmt.Sprint(int16(code)))
		if code == kafka.ThrottlingQuotaExceeded && text != nil {
			p.t.Errorf("a refusal says %q", *text)
		}
	}
	var ms int32
	switch resp := r.message.(type) {
	case *message.CreateTopicsResponse:
		ms = resp.ThrottleTimeMs
		for _, t := range resp.Topics {
			told(t.ErrorCode, t.ErrorMessage)
		}
	case *message.DeleteTopicsResponse:
		ms = resp.ThrottleTimeMs
		for _, t := range resp.Responses {
			told(t.ErrorCode, t.ErrorMessage)
		}
	case *message.CreatePartitionsResponse:
		ms = resp.ThrottleTimeMs
		for _, t := range resp.Results {
			told(t.ErrorCode, t.ErrorMessage)
		}
	}
	if muted := time.Duration(ms) * time.Millisecond; !about(r.muted(), muted) {
		p.t.Errorf("%d ms are announced, the mute is %v", ms, r.muted())
	}
	return fmt.Sprintf("%s, %d ms", strings.Join(codes, " "), ms)
}

// mutationStep is what is asked and what comes of it.
type mutationStep struct {
	after      time.Duration
	version    int16
	partitions []int32
	want       string
}

// TestMutationVectors plays the vectors of KIP-599's bucket over the wire.
func TestMutationVectors(t *testing.T) {
	const strict, permissive = 7, 5
	for _, c := range []struct {
		name    string
		rate    float64
		windows int
		steps   []mutationStep
	}{
		{"strict", 2, 10, []mutationStep{
			{0, strict, []int32{30}, "0, 0 ms"}, {0, strict, []int32{30}, "89, 5000 ms"}, {5 * time.Second, strict, []int32{30}, "0, 0 ms"}}},
		{"permissive", 2, 10, []mutationStep{
			{0, permissive, []int32{30}, "0, 5000 ms"}, {0, permissive, []int32{30}, "0, 20000 ms"}}},
		{"permissive, more", 10, 10, []mutationStep{
			{0, permissive, []int32{90}, "0, 0 ms"}, {0, permissive, []int32{90}, "0, 8000 ms"}, {0, permissive, []int32{90}, "0, 17000 ms"},
			{5 * time.Second, strict, []int32{1}, "89, 12000 ms"}}},
		{"to the millisecond", 2, 11, []mutationStep{
			{0, strict, []int32{30}, "0, 0 ms"}, {0, strict, []int32{30}, "89, 4000 ms"},
			{3999 * time.Millisecond, strict, []int32{1}, "89, 1 ms"}, {time.Millisecond, strict, []int32{1}, "0, 0 ms"}}},
		{"T36", 2, 11, []mutationStep{{0, strict, []int32{30, 1}, "0 89, 4000 ms"}}},
		{"T37", 2, 11, []mutationStep{{0, permissive, []int32{30, 1}, "0 0, 4500 ms"}}},
		{"in between", 2, 11, []mutationStep{{0, 6, []int32{30, 1, 1}, "0 89 89, 4000 ms"}, {4 * time.Second, 6, []int32{1, 1}, "0 89, 500 ms"}}},
		{"nothing saved above the burst", 2, 11, []mutationStep{{time.Hour, strict, []int32{22, 1, 1}, "0 0 89, 500 ms"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			perSecond(t, c.rate, c.windows, func(t *testing.T, r *rig) {
				p := r.connect(plainListener)
				for i, step := range c.steps {
					time.Sleep(step.after)
					if got := p.create(step.version, step.partitions...); got != step.want {
						t.Errorf("step %d: %s, want %s", i, got, step.want)
					}
				}
			})
		})
	}
}

// TestMutationByVersion holds from which version on each API refuses.
func TestMutationByVersion(t *testing.T) {
	for _, c := range []struct {
		key    kafka.APIKey
		strict int16
		ask    func(version int16) codec.Message
	}{
		{kafka.KeyCreateTopics, 6, func(int16) codec.Message {
			return &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{newTopic("x", 4, 1)}}
		}},
		{kafka.KeyDeleteTopics, 5, func(v int16) codec.Message {
			if v < 6 {
				return &message.DeleteTopicsRequest{TopicNames: []string{"a"}}
			}
			return &message.DeleteTopicsRequest{Topics: byName("a")}
		}},
		{kafka.KeyCreatePartitions, 3, func(int16) codec.Message {
			return &message.CreatePartitionsRequest{Topics: []message.CreatePartitionsTopic{{Name: "a", Count: 8}}}
		}},
	} {
		route := newRig(t).routes.find(c.key)
		for v := route.low; v <= route.high; v++ {
			t.Run(fmt.Sprintf("%s v%d", c.key, v), func(t *testing.T) {
				perSecond(t, 2, 11, func(t *testing.T, r *rig) {
					r.topic("a", 4)
					p := r.connect(plainListener)
					p.create(7, 24) // 2 beyond the burst
					before := r.Metadata.Image()
					got := p.mutation(c.key, v, c.ask(v))
					want := "0, 3000 ms" // 4 more
					if v >= c.strict {
						want = "89, 1000 ms"
					}
					if got != want {
						t.Errorf("%s, want %s", got, want)
					}
					if changed := r.Metadata.Image() != before; changed != (v < c.strict) {
						t.Errorf("the metadata changed: %v", changed)
					}
				})
			})
		}
	}
}

// What cannot be done, and what is only tried, costs nothing (T38).
func TestMutationsThatFailAreFree(t *testing.T) {
	perSecond(t, 2, 11, func(t *testing.T, r *rig) {
		r.topic("there", 2)
		r.topic("secret", 30)
		r.Authorizer = only{"CREATE CLUSTER:kafka-cluster", "ALTER TOPIC:there", "DELETE TOPIC:there", "DELETE TOPIC:nowhere"}
		p := r.connect(plainListener)
		for _, c := range []struct {
			name    string
			key     kafka.APIKey
			version int16
			req     codec.Message
			want    string
		}{
			{"topics that cannot be", kafka.KeyCreateTopics, 7, &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{
				newTopic("there", 50, 1), newTopic("a b", 50, 1), newTopic("x", 50, 3), newTopic("y", 50, 1, "no.such=1"), newTopic("z", 0, 1)}}, "36 17 38 40 37, 0 ms"},
			{"topics that are only tried", kafka.KeyCreateTopics, 7, &message.CreateTopicsRequest{ValidateOnly: true, Topics: []message.CreateTopicsTopic{newTopic("x", 500, 1)}}, "0, 0 ms"},
			{"partitions that cannot be", kafka.KeyCreatePartitions, 3, &message.CreatePartitionsRequest{Topics: []message.CreatePartitionsTopic{
				{Name: "there", Count: 1}, {Name: "secret", Count: 500}, {Name: "nowhere", Count: 500}}}, "37 29 29, 0 ms"},
			{"partitions that are only tried", kafka.KeyCreatePartitions, 3, &message.CreatePartitionsRequest{ValidateOnly: true,
				Topics: []message.CreatePartitionsTopic{{Name: "there", Count: 500}}}, "0, 0 ms"},
			{"deletions that cannot be", kafka.KeyDeleteTopics, 6, &message.DeleteTopicsRequest{Topics: byName("secret", "nowhere")}, "29 3, 0 ms"},
			{"what the bucket still holds", kafka.KeyCreateTopics, 7, &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{
				newTopic("p", 21, 1), newTopic("q", 1, 1), newTopic("r", 1, 1), newTopic("s", 1, 1)}}, "0 0 0 89, 500 ms"},
		} {
			if got := p.mutation(c.key, c.version, c.req); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
	})
}

// Partitions are charged as they are added, and as they go.
func TestMutationsAreCounted(t *testing.T) {
	perSecond(t, 2, 11, func(t *testing.T, r *rig) {
		r.topic("a", 10)
		p := r.connect(plainListener)
		grow := &message.CreatePartitionsRequest{Topics: []message.CreatePartitionsTopic{{Name: "a", Count: 20}}}
		if got := p.mutation(kafka.KeyCreatePartitions, 2, grow); got != "0, 0 ms" { // 12 are left
			t.Error(got)
		}
		if got := p.mutation(kafka.KeyDeleteTopics, 4, &message.DeleteTopicsRequest{TopicNames: []string{"a"}}); got != "0, 4000 ms" {
			t.Error(got)
		}
	})
}

// A topic that is made because it was asked for is charged to who asks. When
// the client is in debt the topic is not there, and nothing is announced.
func TestMutationOnDemand(t *testing.T) {
	perSecond(t, 2, 11, func(t *testing.T, r *rig) {
		p := r.connect(plainListener)
		ask := func(names ...string) (codes []kafka.Code) {
			got := p.ask(kafka.KeyMetadata, 9, &message.MetadataRequest{Topics: named(names...), AllowAutoTopicCreation: true})
			resp := got.message.(*message.MetadataResponse)
			if got.Mute != nil || resp.ThrottleTimeMs != 0 {
				t.Errorf("muted for %v, %d ms", got.muted(), resp.ThrottleTimeMs)
			}
			for _, topic := range resp.Topics {
				codes = append(codes, topic.ErrorCode)
			}
			return codes
		}
		if diff := cmp.Diff([]kafka.Code{0, 0, 3, 17}, ask("a", "b", "c", "d e")); diff != "" {
			t.Error(diff)
		}
		time.Sleep(4*time.Second - time.Millisecond)
		if diff := cmp.Diff([]kafka.Code{0, 3}, ask("a", "c")); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Millisecond)
		if diff := cmp.Diff([]kafka.Code{0}, ask("c")); diff != "" {
			t.Error(diff)
		}
	}, func(s *setup) { s.properties = map[string]string{"num.partitions": "15"} })
}

// A topic is charged to who asks for it, whoever else is in debt.
func TestMutationIsPerUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKafkaModel, withUsers)
		r.set(entry("user", kafka.ControllerMutationRate, 2.0))
		if got := r.connectAs("alice").create(7, 30, 1); got != "0 89, 4000 ms" {
			t.Error(got)
		}
		if got := r.connect(plainListener).create(7, 22, 1); got != "0 0, 0 ms" {
			t.Errorf("somebody else: %s", got)
		}
	})
}
