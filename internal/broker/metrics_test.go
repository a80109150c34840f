package broker_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

var rewriteGolden = flag.Bool("rewrite", false, "write what is found into the golden files")

// golden compares lines with a file of testdata.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got := strings.Join(lines, "\n") + "\n"
	if *rewriteGolden {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

// own are the families of kaasd, sorted, without those of Go and the process
// and without the names of Kafka.
func (s scraped) own() []*dto.MetricFamily {
	var all []*dto.MetricFamily
	for _, f := range s {
		if strings.HasPrefix(f.GetName(), "kaasd_") {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}

func typeOf(f *dto.MetricFamily) string { return strings.ToLower(f.GetType().String()) }

// used is a broker that has seen something of everything that is counted.
func used(t *testing.T, changes ...func(*broker.Config)) *brokertest.Broker {
	t.Helper()
	b, _ := startWithFile(t, credentials(t, alice, carol), changes...)
	p := dialAs(t, b.SASL, "alice", "a-secret")
	admin := dial(t, b.Plain)
	admin.alter("alice", set(kafka.ProducerByteRate, 100), set(kafka.ConsumerByteRate, 100), set(kafka.RequestPercentage, 50))
	admin.alterAll(1, false, entry("", set(kafka.ProducerByteRate, 1)))
	admin.mustProduce("t", batch(1000))
	admin.produce("none", batch(10))
	call[message.FetchResponse](admin, 11, fetchRequest("t", 0))
	p.overdraw("t")
	dial(t, b.SASL).logIn("alice", "wrong")
	dial(t, b.Plain).raw([]byte("GET / HTTP/1.1\r\n\r\n"))
	unserved := dial(t, b.Plain)
	unserved.raw(sized(header(93, 0)))
	unserved.mustEnd()
	awaitMuted(t, b, "produce", 1)
	eventually(t, "closed connections are gone", func() bool {
		all := scrape(t, b)
		return all.sum("kaasd_connections", "listener", "PLAINTEXT") == 2 && all.sum("kaasd_bad_frames_total") == 1
	})
	return b
}

// The names, types and labels are what dashboards and alerts are made of: a
// change here is one that operators notice.
func TestMetricsAreTheListed(t *testing.T) {
	user := scrape(t, used(t))
	golden(t, "metrics.txt", user.families("kaasd_"))
	for _, name := range []string{"go_goroutines", "go_memstats_heap_alloc_bytes", "process_open_fds", "process_resident_memory_bytes", "process_start_time_seconds"} {
		if user[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	all := scrape(t, usedOfKafka(t))
	golden(t, "metrics-kafka.txt", all.families("kaasd_"))
	golden(t, "metrics-kafka-names.txt", all.families("kafka_server_"))
}

// usedOfKafka is a broker of the kafka model that has seen what only that
// counts as well.
func usedOfKafka(t *testing.T) *brokertest.Broker {
	t.Helper()
	b := used(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.alterEntity(entityOf(named(kafka.EntityUser, anonymous), named(kafka.EntityClientID, "busy")), set(kafka.ProducerByteRate, 100),
		set(kafka.ConsumerByteRate, 100), set(kafka.RequestPercentage, 1e-6), set(kafka.ControllerMutationRate, 1e-6))
	for range 2 {
		p := dial(t, b.Plain)
		p.clientID = "busy"
		p.create(7, false, map[string]int32{"made": 1}, "made")
	}
	return b
}

// families are those whose names begin so, with their types and labels.
func (s scraped) families(prefix string) []string {
	var lines []string
	for name, f := range s {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		labels := map[string]bool{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", name, typeOf(f), strings.Join(slices.Sorted(maps.Keys(labels)), ",")))
	}
	slices.Sort(lines)
	return lines
}

// Kafka's names are there unless they are turned off.
func TestKafkaNamesCanBeTurnedOff(t *testing.T) {
	b := used(t, kafkaModel, func(c *broker.Config) { c.Quota.KafkaNames = false })
	if got := scrape(t, b).families("kafka_"); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// Series whose labels are known beforehand are there from the start with 0.
func TestMetricsExistFromTheStart(t *testing.T) {
	for name, model := range map[string]func(*broker.Config){"metrics-start.txt": userModel, "metrics-kafka-start.txt": kafkaModel} {
		t.Run(name, func(t *testing.T) { metricsExistFromTheStart(t, name, model) })
	}
}

func metricsExistFromTheStart(t *testing.T, name string, model func(*broker.Config)) {
	b := brokertest.Start(t, model)
	all := scrape(t, b)
	for _, k := range dial(t, b.Plain).versions().ApiKeys {
		for _, name := range []string{"kaasd_requests_total", "kaasd_request_duration_seconds", "kaasd_request_errors_total"} {
			if !slices.ContainsFunc(all[name].GetMetric(), func(m *dto.Metric) bool { return has(m, []string{"api", k.ApiKey.String()}) }) {
				t.Errorf("%s of %s is not there from the start", name, k.ApiKey)
			}
		}
	}
	var lines []string
	for _, f := range all.own() {
		for _, m := range f.GetMetric() {
			if slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "api" }) {
				continue
			}
			var labels []string
			for _, l := range m.GetLabel() {
				value := l.GetValue()
				if f.GetName() == "kaasd_build_info" {
					value = ""
				}
				labels = append(labels, l.GetName()+"="+value)
			}
			lines = append(lines, f.GetName()+" "+strings.Join(labels, ","))
		}
	}
	slices.Sort(lines)
	golden(t, name, lines)
}

func TestMetricsPassTheLinter(t *testing.T) {
	t.Run("user", func(t *testing.T) { metricsPassTheLinter(t, used(t)) })
	t.Run("kafka", func(t *testing.T) { metricsPassTheLinter(t, usedOfKafka(t)) })
}

func metricsPassTheLinter(t *testing.T, b *brokertest.Broker) {
	all := scrape(t, b)
	problems, err := promlint.NewWithMetricFamilies(all.own()).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for name, f := range all {
		for _, m := range f.GetMetric() {
			for _, v := range []float64{m.GetCounter().GetValue(), m.GetGauge().GetValue(), m.GetHistogram().GetSampleSum()} {
				if math.IsNaN(v) || math.IsInf(v, 0) && strings.HasPrefix(name, "kaasd_") {
					t.Errorf("%s is %v", name, v)
				}
			}
			for _, q := range m.GetSummary().GetQuantile() {
				if strings.HasPrefix(name, "kaasd_") {
					t.Errorf("%s has quantiles: %v", name, q)
				}
			}
		}
	}
}

// What was done is what is told.
func TestMetricsTellWhatWasDone(t *testing.T) {
	all := scrape(t, used(t))
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"kaasd_ready", nil, 1},
		{"kaasd_build_info", nil, 1},
		{"kaasd_quota_checks_total", []string{"quota", "produce", "outcome", "throttled", "level", "user"}, 1},
		{"kaasd_quota_checks_total", []string{"quota", "produce", "outcome", "unlimited", "level", "none"}, 2},
		{"kaasd_quota_checks_total", []string{"quota", "fetch", "outcome", "unlimited"}, 1},
		{"kaasd_quota_throttle_seconds", []string{"quota", "produce"}, 1},
		{"kaasd_quota_throttle_seconds", []string{"quota", "fetch"}, 0},
		{"kaasd_quota_alterations_total", []string{"result", "applied"}, 1},
		{"kaasd_quota_alterations_total", []string{"result", "rejected"}, 1},
		{"kaasd_quota_configs", []string{"source", "override"}, 1},
		{"kaasd_quota_configs", []string{"source", "base"}, 0},
		{"kaasd_quota_entity_series", []string{"state", "exported"}, 1},
		{"kaasd_quota_entity_series", []string{"state", "folded"}, 0},
		{"kaasd_quota_entity_limit_bytes_per_second", []string{"quota", "produce", "user", "alice", "client_id", ""}, 100},
		{"kaasd_quota_entity_throttled_requests_total", []string{"quota", "produce", "user", "alice"}, 1},
		{"kaasd_credentials_last_reload_successful", nil, 1},
		{"kaasd_credentials_reloads_total", []string{"trigger", "start", "result", "applied"}, 1},
		{"kaasd_credentials_users", []string{"auth_type", "scram-sha-512"}, 1},
		{"kaasd_authentications_total", []string{"listener", "SASL_PLAINTEXT", "mechanism", "PLAIN", "result", "success"}, 1},
		{"kaasd_authentications_total", []string{"listener", "SASL_PLAINTEXT", "mechanism", "PLAIN", "result", "failure"}, 1},
		{"kaasd_connections", []string{"listener", "PLAINTEXT"}, 2}, // that of the topic and that of the quotas
		{"kaasd_unsupported_requests_total", nil, 1},
		{"kaasd_requests_total", []string{"api", "Produce"}, 3},
		{"kaasd_request_duration_seconds", []string{"api", "Produce"}, 3},
		{"kaasd_request_errors_total", []string{"api", "Produce", "error", "UNKNOWN_TOPIC_OR_PARTITION"}, 1},
		{"kaasd_request_errors_total", []string{"api", "AlterClientQuotas", "error", "INVALID_REQUEST"}, 1},
		{"kaasd_request_errors_total", []string{"error", "NONE"}, 0},
		{"kaasd_topics", nil, 1},
		{"kaasd_partitions", nil, 1},
	} {
		if got := all.sum(c.name, c.labels...); got != c.want || all[c.name] == nil {
			t.Errorf("%s %v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	charged := all.sum("kaasd_quota_entity_bytes_total", "quota", "produce", "user", "alice")
	if throttle := all["kaasd_quota_entity_throttle_seconds_total"]; charged < 100_000 || charged > 101_000 || throttle == nil {
		t.Errorf("alice was charged %v bytes", charged)
	}
	if seconds := all.sum("kaasd_quota_entity_throttle_seconds_total", "quota", "produce", "user", "alice"); math.Abs(seconds-(charged/100-1)) > 1 {
		t.Errorf("alice was throttled for %v s at 100 B/s, with %v bytes", seconds, charged)
	}
	size := all.sum("kaasd_log_size_bytes", "topic", "t")
	if received := all.sum("kaasd_received_bytes_total", "topic", "t"); received != size || received < 101_000 {
		t.Errorf("%v bytes were received, the log has %v", received, size)
	}
	if sent := all.sum("kaasd_sent_bytes_total", "topic", "t"); sent < 1000 || sent > 1200 {
		t.Errorf("%v bytes were sent", sent)
	}
}

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
	names := []string{"\xff\xfea", "a\"b\\c\nd", strings.Repeat("n", 30_000), strings.Repeat("n", 30_001), "\x00"}
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
