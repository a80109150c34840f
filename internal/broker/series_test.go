package broker_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// perFamily is how many series each family has of one quota.
func (s scraped) perFamily(quota string) map[string]int {
	n := map[string]int{}
	for _, f := range s.own() {
		if !strings.HasPrefix(f.GetName(), "kaasd_quota_entity_") {
			continue
		}
		for _, m := range f.GetMetric() {
			if has(m, []string{"quota", quota}) {
				n[f.GetName()]++
			}
		}
	}
	return n
}

// Ten thousand users have five hundred series and one more for the rest.
func TestSeriesAreBounded(t *testing.T) {
	b := brokertest.Start(t)
	admin := dial(t, b.Plain)
	const users = 10_000
	for first := 0; first < users; first += 1000 {
		var entries []message.AlterClientQuotasEntry
		for i := range 1000 {
			entries = append(entries, entry(fmt.Sprintf("user-%05d", first+i), set(kafka.ProducerByteRate, 1), set(kafka.ConsumerByteRate, 2)))
		}
		for _, e := range admin.alterAll(1, false, entries...) {
			if e.ErrorCode != kafka.NoError {
				t.Fatal(e.ErrorCode)
			}
		}
	}
	all := scrape(t, b)
	for _, quota := range []string{"produce", "fetch"} {
		for family, n := range all.perFamily(quota) {
			if n > 501 {
				t.Errorf("%s has %d series for %s", family, n, quota)
			}
		}
	}
	for state, want := range map[string]float64{"exported": 500, "folded": users - 500} {
		if got := all.sum("kaasd_quota_entity_series", "state", state); got != want {
			t.Errorf("%v entities are %s, want %v", got, state, want)
		}
	}
	if got := all.sum("kaasd_quota_configs", "source", "override"); got != users {
		t.Errorf("%v settings, want %d", got, users)
	}
	if _, body := page(t, b, "/metrics"); len(body) > 5<<20 {
		t.Errorf("a scrape has %d bytes", len(body))
	}
}

// Totals are exact, whatever is folded.
func TestFoldedTotalsAreExact(t *testing.T) {
	var accounts []account
	for i := range 8 {
		accounts = append(accounts, account{fmt.Sprintf("user-%d", i), "pw", kafka.ScramUnknown})
	}
	b, _ := startWithFile(t, credentials(t, accounts...), func(c *broker.Config) { c.Quota.MaxEntities = 3 })
	admin := dial(t, b.Plain)
	var bytes, throttled, seconds float64
	for _, a := range accounts {
		admin.alter(a.name, set(kafka.ProducerByteRate, 1000))
		p := dialAs(t, b.SASL, a.name, a.password)
		bytes += float64(p.send(9, produceRequest("t", -1, batch(2000))))
		var resp message.ProduceResponse
		p.read(&resp)
		throttled++
		seconds += float64(resp.ThrottleTimeMs) / 1000
	}
	all := scrape(t, b)
	for name, want := range map[string]float64{
		"kaasd_quota_entity_bytes_total": bytes, "kaasd_quota_entity_throttled_requests_total": throttled, "kaasd_quota_throttle_seconds": throttled,
	} {
		if got := all.sum(name, "quota", "produce"); got != want {
			t.Errorf("%s adds up to %v, want %v", name, got, want)
		}
	}
	if got := all.sum("kaasd_quota_entity_throttle_seconds_total", "quota", "produce"); math.Abs(got-seconds) > throttled*0.001 {
		t.Errorf("%v s of throttle are told, %v were announced", got, seconds)
	}
	if n := all.perFamily("produce")["kaasd_quota_entity_bytes_total"]; n != 4 {
		t.Errorf("%d series, want three and the rest", n)
	}
	if got := all.sum("kaasd_quota_entity_bytes_total", "user", "_other", "client_id", "_other"); got == 0 {
		t.Error("the rest is not told")
	}
}

// Clients cannot mint series: not with client ids, topics that do not exist or
// names of users.
func TestClientsCannotMintSeries(t *testing.T) {
	b := brokertest.Start(t)
	p := dial(t, b.Plain)
	p.newTopic("t")
	p.alter(anonymous, set(kafka.ProducerByteRate, 1e9))
	p.mustProduce("t", batch(10))
	p.produce("none", batch(10))
	series := func() int {
		n := 0
		for _, f := range scrape(t, b).own() {
			n += len(f.GetMetric())
		}
		return n
	}
	before, random := series(), rand.New(rand.NewPCG(3, 4))
	for range 500 {
		id := make([]byte, 1+random.IntN(200))
		for i := range id {
			id[i] = byte(random.Uint32())
		}
		p.clientID = string(id)
		p.mustProduce("t", batch(10))
		p.produce(string(id), batch(10))
	}
	if after := series(); after != before {
		t.Errorf("%d series became %d", before, after)
	}
	names := []string{"\xff\xfea", "a\"b\\c\nd", strings.Repeat("n", 4_000), strings.Repeat("n", 4_001), "\x00"}
	for _, name := range names {
		p.alter(name, set(kafka.ProducerByteRate, 5))
	}
	for _, m := range scrape(t, b)["kaasd_quota_entity_limit_bytes_per_second"].GetMetric() {
		for _, l := range m.GetLabel() {
			if len(l.GetValue()) > 128 {
				t.Errorf("a label has %d bytes", len(l.GetValue()))
			}
		}
	}
}

// Under a default quota every client id has a bucket of its own, and all of
// them together no more series than are set; what was charged adds up.
func TestClientIDsUnderADefaultAreBounded(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.newTopic("t")
	admin.alterEntity(entityOf(byDefault(kafka.EntityClientID)), set(kafka.ProducerByteRate, 100), set(kafka.ConsumerByteRate, 1e9), set(kafka.RequestPercentage, 1e6))
	random := rand.New(rand.NewPCG(5, 6))
	const clients, throttled = 10_000, 600
	one := batch(10)
	p := dial(t, b.Plain)
	for i := range clients {
		id := make([]byte, 8+random.IntN(100))
		for j := range id {
			id[j] = byte(random.Uint32())
		}
		p.clientID = string(id)
		p.send(9, produceRequest("t", 1, one))
		if i%100 == 99 {
			for range 100 {
				var resp message.ProduceResponse
				p.read(&resp)
				if resp.ThrottleTimeMs != 0 {
					t.Fatalf("a client that comes for the first time is throttled for %d ms", resp.ThrottleTimeMs)
				}
			}
		}
	}
	for i := range throttled {
		late := dial(t, b.Plain)
		late.clientID = fmt.Sprintf("late-%d", i)
		late.overdraw("t")
		_ = late.Close()
	}
	status, body := page(t, b, "/metrics")
	if status != http.StatusOK || len(body) > 5<<20 {
		t.Errorf("a scrape: %d, %d bytes", status, len(body))
	}
	all := scrape(t, b)
	for name, f := range all {
		if strings.HasPrefix(name, "kafka_server_") && len(f.GetMetric()) > 501 {
			t.Errorf("%s has %d series", name, len(f.GetMetric()))
		}
	}
	for family, n := range all.perFamily("produce") {
		if n > 501 {
			t.Errorf("%s has %d series", family, n)
		}
	}
	if got := all.sum("kaasd_quota_entity_throttled_requests_total", "quota", "produce"); got != throttled {
		t.Errorf("%v throttled requests are told, there were %d", got, throttled)
	}
	if got := all.sum("kaasd_quota_checks_total", "quota", "produce", "level", "client-default"); got != clients+throttled {
		t.Errorf("%v decisions at the level of the default, there were %d", got, clients+throttled)
	}
	if got := all.sum("kaasd_quota_tracked_entities", "quota", "produce"); got != clients+throttled+1 { // and the admin's
		t.Errorf("%v buckets, there are %d clients", got, clients+throttled+1)
	}
}

// Topics beyond a thousand share a series.
func TestSeriesOfTopicsAreBounded(t *testing.T) {
	const topics = 1100
	b := brokertest.Start(t)
	p := dial(t, b.Plain)
	create := &message.CreateTopicsRequest{TimeoutMs: 30_000}
	produce := &message.ProduceRequest{Acks: -1, TimeoutMs: 30_000}
	one := batch(10)
	for i := range topics {
		name := fmt.Sprintf("topic-%04d", i)
		create.Topics = append(create.Topics, message.CreateTopicsTopic{Name: name, NumPartitions: 1, ReplicationFactor: 1})
		produce.TopicData = append(produce.TopicData, message.ProduceTopic{Name: name, PartitionData: []message.ProducePartition{{Records: codec.Records{Bytes: one}}}})
	}
	call[message.CreateTopicsResponse](p, 7, create)
	for _, r := range call[message.ProduceResponse](p, 9, produce).Responses {
		if got := r.PartitionResponses[0].ErrorCode; got != kafka.NoError {
			t.Fatal(got)
		}
	}
	all := scrape(t, b)
	for _, name := range []string{"kaasd_received_bytes_total", "kaasd_log_size_bytes"} {
		if n := len(all[name].GetMetric()); n != 1001 {
			t.Errorf("%s has %d series", name, n)
		}
		if got, want := all.sum(name), float64(topics*len(one)); got != want {
			t.Errorf("%s adds up to %v, want %v", name, got, want)
		}
	}
}

// A quota that goes takes its limit with it.
func TestLimitGoesWithTheQuota(t *testing.T) {
	b := brokertest.Start(t)
	p := dial(t, b.Plain)
	p.alter("alice", set(kafka.ProducerByteRate, 5))
	const name = "kaasd_quota_entity_limit_bytes_per_second"
	if got := scrape(t, b).sum(name, "user", "alice"); got != 5 {
		t.Errorf("the limit is %v", got)
	}
	p.alter("alice", unset(kafka.ProducerByteRate))
	if got := scrape(t, b)[name]; got != nil {
		t.Errorf("the limit is still told: %v", got)
	}
}
