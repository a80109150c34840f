package broker_test

import (
	"testing"
	"time"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// create asks for topics of so many partitions and gives their codes.
func (p *peer) create(version int16, validateOnly bool, partitions map[string]int32, order ...string) ([]kafka.Code, time.Duration) {
	p.t.Helper()
	req := &message.CreateTopicsRequest{TimeoutMs: 30_000, ValidateOnly: validateOnly}
	for _, name := range order {
		req.Topics = append(req.Topics, message.CreateTopicsTopic{Name: name, NumPartitions: partitions[name], ReplicationFactor: 1})
	}
	resp := call[message.CreateTopicsResponse](p, version, req)
	codes := make([]kafka.Code, len(order))
	for i, name := range order {
		for _, topic := range resp.Topics {
			if topic.Name == name {
				codes[i] = topic.ErrorCode
			}
		}
	}
	return codes, time.Duration(resp.ThrottleTimeMs) * ms
}

// The strict versions refuse topics while the bucket is in debt; the older ones
// make them and throttle.
func TestMutationQuota(t *testing.T) {
	sizes := map[string]int32{"large": 30, "small": 1, "next": 1}
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	limited := entityOf(named(kafka.EntityClientID, "peer"))
	admin.alterEntity(limited, set(kafka.ControllerMutationRate, 0.01))
	p := dial(t, b.Plain)
	if codes, throttle := p.create(7, true, sizes, "large"); codes[0] != kafka.NoError || throttle != 0 {
		t.Errorf("to check only: %v, throttled for %v", codes, throttle)
	}
	codes, throttle := p.create(7, false, sizes, "large")
	if codes[0] != kafka.NoError || throttle != 0 {
		t.Errorf("strict, into debt: %v, throttled for %v", codes, throttle)
	}
	codes, throttle = p.create(7, false, sizes, "small")
	if codes[0] != kafka.ThrottlingQuotaExceeded || throttle < 2900*time.Second || throttle > 3000*time.Second {
		t.Errorf("strict, in debt: %v, throttled for %v", codes, throttle)
	}
	awaitMuted(t, b, "mutation", 1)
	codes, throttle = dial(t, b.Plain).create(5, false, sizes, "next")
	if codes[0] != kafka.NoError || throttle < 3000*time.Second || throttle > 3100*time.Second {
		t.Errorf("permissive: %v, throttled for %v", codes, throttle)
	}
	awaitMuted(t, b, "mutation", 2)
	if got := scrape(t, b).sum("kaasd_quota_entity_mutations_total", "client_id", "peer"); got != 31 {
		t.Errorf("%v partitions were charged, want 31", got)
	}
	admin.alterEntity(limited, unset(kafka.ControllerMutationRate))
	awaitMuted(t, b, "mutation", 0)
	if codes, throttle = p.create(7, false, sizes, "small"); codes[0] != kafka.NoError || throttle != 0 {
		t.Errorf("without a quota: %v, throttled for %v", codes, throttle)
	}
}

// A deletion takes the topic's partitions, a growth those that are added.
func TestDeletionsAndGrowthAreMutations(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	sizes := map[string]int32{"a": 30, "b": 5}
	admin.create(7, false, sizes, "a", "b")
	limited := entityOf(named(kafka.EntityClientID, "peer"))
	admin.alterEntity(limited, set(kafka.ControllerMutationRate, 2))
	p := dial(t, b.Plain)
	grown := call[message.CreatePartitionsResponse](p, 3, &message.CreatePartitionsRequest{TimeoutMs: 30_000, Topics: []message.CreatePartitionsTopic{{Name: "b", Count: 15}}})
	if grown.Results[0].ErrorCode != kafka.NoError || grown.ThrottleTimeMs != 0 {
		t.Errorf("ten more: %s, throttled for %d ms", grown.Results[0].ErrorCode, grown.ThrottleTimeMs)
	}
	gone := call[message.DeleteTopicsResponse](p, 5, &message.DeleteTopicsRequest{TimeoutMs: 30_000, TopicNames: []string{"a", "b"}})
	codes := map[string]kafka.Code{}
	for _, r := range gone.Responses {
		codes[deref(r.Name)] = r.ErrorCode
	}
	if codes["a"] != kafka.NoError || codes["b"] != kafka.ThrottlingQuotaExceeded || gone.ThrottleTimeMs <= 0 {
		t.Errorf("deletions: %v, throttled for %d ms", codes, gone.ThrottleTimeMs)
	}
	if got := topicID(admin, "b"); got.IsZero() {
		t.Error("the refused deletion was done")
	}
}
