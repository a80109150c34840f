package broker_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
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
	n := newNotary(t)
	web := filepath.Join(t.TempDir(), "web.yml")
	rewrite(t, web, "")
	b, _ := startWithFile(t, credentials(t, alice, carol), append(changes, n.listeners, func(c *broker.Config) { c.HTTP.File = web })...)
	mustDialTLS(t, b.SSL, n.client())
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
	b := brokertest.Start(t, model, newNotary(t).listeners)
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
				if f.GetName() == "kaasd_build_info" || l.GetName() == "file" {
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
