package quota

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// watched is an Enforcer with its metrics, of which want is part.
func watched(o Options) (*Enforcer, *prometheus.Registry) {
	reg := prometheus.NewPedanticRegistry()
	return New(UserModel(), o, zap.NewNop(), reg), reg
}

// scrape is every series as "name{labels} value"; a histogram is its count.
func scrape(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			series[seriesName(f.GetName(), m)] = seriesValue(m)
		}
	}
	return series
}

func seriesName(name string, m *dto.Metric) string {
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	return name + "{" + strings.Join(labels, ",") + "}"
}

func seriesValue(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	}
	return float64(m.Histogram.GetSampleCount())
}

// checkSeries compares with lines of "name{labels} value".
func checkSeries(t *testing.T, got map[string]float64, want string) {
	t.Helper()
	expected := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(want))
	for lines.Scan() {
		cut := strings.LastIndex(lines.Text(), " ")
		if cut < 0 {
			continue
		}
		var v float64
		if _, err := fmt.Sscan(lines.Text()[cut+1:], &v); err != nil {
			t.Fatal(err)
		}
		expected[strings.TrimSpace(lines.Text()[:cut])] = v
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

const fixedSeries = `
	kaasd_ip_connections_refused_total{} 0
	kaasd_quota_alterations_total{result="applied"} 0
	kaasd_quota_alterations_total{result="rejected"} 0
	kaasd_quota_checks_total{level="none",outcome="unlimited",quota="fetch"} 0
	kaasd_quota_checks_total{level="none",outcome="unlimited",quota="produce"} 0
	kaasd_quota_checks_total{level="user",outcome="throttled",quota="fetch"} 0
	kaasd_quota_checks_total{level="user",outcome="throttled",quota="produce"} 0
	kaasd_quota_checks_total{level="user",outcome="within",quota="fetch"} 0
	kaasd_quota_checks_total{level="user",outcome="within",quota="produce"} 0
	kaasd_quota_configs{source="base"} 0
	kaasd_quota_configs{source="override"} 0
	kaasd_quota_entity_series{state="exported"} 0
	kaasd_quota_entity_series{state="folded"} 0
	kaasd_quota_muted_connections{quota="fetch"} 0
	kaasd_quota_muted_connections{quota="produce"} 0
	kaasd_quota_throttle_seconds{quota="fetch"} 0
	kaasd_quota_throttle_seconds{quota="produce"} 0
	kaasd_quota_tracked_entities{quota="fetch"} 0
	kaasd_quota_tracked_entities{quota="produce"} 0
`

func TestMetricsFromTheStart(t *testing.T) {
	_, reg := watched(DefaultOptions())
	checkSeries(t, scrape(t, reg), fixedSeries)
}

func TestMetrics(t *testing.T) {
	e, reg := watched(DefaultOptions())
	e.SetBase(map[string]Limits{"alice": {kafka.ProducerByteRate: 1000}})
	now := time.Now()
	alter(e, user("bob"), set(kafka.ConsumerByteRate, 500))
	alter(e, user("bob"), set("bogus", 500))
	c := e.Client("alice", "c1")
	c.Charge(Produce, 1000, now)
	m := c.Mute(c.Charge(Produce, 2500, now))
	c.Charge(Fetch, 77, now)
	e.Client("nobody", "c1").Charge(Produce, 99, now)
	b := e.Client("bob", "c1")
	b.Mute(b.Take(Fetch, 500, time.Now()).Settle(1500, time.Now())).Done()
	b.Mute(b.Take(Fetch, 500, time.Now()).Throttle).Done()

	got := scrape(t, reg)
	for _, name := range []string{
		`kaasd_quota_entity_throttle_seconds_total{client_id="",quota="fetch",user="bob"}`,
		`kaasd_quota_entity_bytes_total{client_id="",quota="fetch",user="bob"}`,
		`kafka_server_fetch_throttle_time{client_id="",user="bob"}`,
	} {
		if got[name] <= 0 {
			t.Errorf("%s is %g", name, got[name])
		}
		delete(got, name)
	}
	checkSeries(t, got, `
	kaasd_ip_connections_refused_total{} 0
	kaasd_quota_alterations_total{result="applied"} 1
	kaasd_quota_alterations_total{result="rejected"} 1
	kaasd_quota_checks_total{level="none",outcome="unlimited",quota="fetch"} 1
	kaasd_quota_checks_total{level="none",outcome="unlimited",quota="produce"} 1
	kaasd_quota_checks_total{level="user",outcome="throttled",quota="fetch"} 2
	kaasd_quota_checks_total{level="user",outcome="throttled",quota="produce"} 1
	kaasd_quota_checks_total{level="user",outcome="within",quota="fetch"} 0
	kaasd_quota_checks_total{level="user",outcome="within",quota="produce"} 1
	kaasd_quota_configs{source="base"} 1
	kaasd_quota_configs{source="override"} 1
	kaasd_quota_entity_bytes_total{client_id="",quota="produce",user="alice"} 3500
	kaasd_quota_entity_limit_bytes_per_second{client_id="",quota="fetch",user="bob"} 500
	kaasd_quota_entity_limit_bytes_per_second{client_id="",quota="produce",user="alice"} 1000
	kaasd_quota_entity_series{state="exported"} 2
	kaasd_quota_entity_series{state="folded"} 0
	kaasd_quota_entity_throttle_seconds_total{client_id="",quota="produce",user="alice"} 2.5
	kaasd_quota_entity_throttled_requests_total{client_id="",quota="fetch",user="bob"} 2
	kaasd_quota_entity_throttled_requests_total{client_id="",quota="produce",user="alice"} 1
	kaasd_quota_muted_connections{quota="fetch"} 0
	kaasd_quota_muted_connections{quota="produce"} 1
	kaasd_quota_throttle_seconds{quota="fetch"} 2
	kaasd_quota_throttle_seconds{quota="produce"} 1
	kaasd_quota_tracked_entities{quota="fetch"} 1
	kaasd_quota_tracked_entities{quota="produce"} 1
	kafka_server_fetch_byte_rate{client_id="",user="bob"} 0
	kafka_server_produce_byte_rate{client_id="",user="alice"} 0
	kafka_server_produce_throttle_time{client_id="",user="alice"} 2500
	`)
	m.Done()
	if got := scrape(t, reg)[`kaasd_quota_muted_connections{quota="produce"}`]; got != 0 {
		t.Errorf("%g connections muted after the end", got)
	}
}

// TestWaitsByLength: the histogram has the bounds that dashboards know, and a wait
// of just a bound is within it.
func TestWaitsByLength(t *testing.T) {
	want := []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	e, reg := watched(DefaultOptions())
	e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: 1000}})
	begin := e.clock.start.Add(time.Minute)
	for i, bound := range append(want, 31) {
		now := begin.Add(time.Duration(i) * time.Hour)
		c := e.Client("u", "")
		c.Mute(c.Charge(Produce, 1000+int(1000*bound), now)).Done()
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, f := range families {
		if f.GetName() != "kaasd_quota_throttle_seconds" {
			continue
		}
		for _, b := range f.Metric[1].Histogram.Bucket { // of produce
			if got = append(got, b.GetUpperBound()); b.GetCumulativeCount() != uint64(len(got)) {
				t.Errorf("%d throttles are within %g s, want %d", b.GetCumulativeCount(), b.GetUpperBound(), len(got))
			}
		}
		if n := f.Metric[1].Histogram.GetSampleCount(); n != uint64(len(want)+1) {
			t.Errorf("%d throttles in all", n)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}

// TestLimitGauge goes at once with the quota; the counters stay until the
// user has been idle.
func TestLimitGauge(t *testing.T) {
	e, reg := watched(DefaultOptions())
	e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: 1000}})
	now := time.Now()
	c := e.Client("u", "")
	c.Charge(Produce, 10, now)
	e.SetBase(nil)
	c.Charge(Produce, 10, now)
	const limit, bytes = `kaasd_quota_entity_limit_bytes_per_second{client_id="",quota="produce",user="u"}`,
		`kaasd_quota_entity_bytes_total{client_id="",quota="produce",user="u"}`
	got := scrape(t, reg)
	if _, there := got[limit]; there || got[bytes] != 20 {
		t.Errorf("limit gauge there: %v, bytes %g, want false, 20", there, got[bytes])
	}

	sweepAll(e, now.Add(59*time.Minute))
	if _, there := scrape(t, reg)[bytes]; !there {
		t.Error("the series is gone before quota.idle")
	}
	sweepAll(e, now.Add(61*time.Minute))
	got = scrape(t, reg)
	if _, there := got[bytes]; there || got[`kaasd_quota_entity_series{state="exported"}`] != 0 {
		t.Error("the series is there after quota.idle")
	}
	if got := got[`kaasd_quota_checks_total{level="user",outcome="within",quota="produce"}`]; got != 1 {
		t.Errorf("the total over all went to %g", got)
	}

	// The same connection finds its new bucket, and its counters begin at 0.
	e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: 1000}})
	c.Charge(Produce, 5, now.Add(62*time.Minute))
	if got := scrape(t, reg)[bytes]; got != 5 {
		t.Errorf("the new series counts %g bytes, want 5", got)
	}
}

func sweepAll(e *Enforcer, now time.Time) {
	for range len(e.accounts.all)/sweepLeast + 1 {
		e.sweep(e.ticksOf(now))
	}
}

// TestSweepKeepsWhoIsMuted: a connection that has not ended its mute is not idle,
// however long it takes.
func TestSweepKeepsWhoIsMuted(t *testing.T) {
	e := newKafka()
	now := e.clock.start.Add(time.Minute)
	giveAt(t, e, now, "user", kafka.ProducerByteRate, 1000)
	c := e.Client("u", "c")
	m := c.Mute(c.Charge(Produce, 20_000, now))
	for _, left := range []int{2, 1} { // with the default's
		sweepAll(e, now.Add(3*time.Hour))
		if got := len(e.accounts.all); got != left {
			t.Errorf("%d accounts, want %d", got, left)
		}
		m.Done()
	}
}

// TestSweepKeepsWhoIsNamed: a setting stays, however long nobody uses it.
func TestSweepKeepsWhoIsNamed(t *testing.T) {
	e := newEnforcer()
	e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: 1000}})
	now := time.Now().Add(1000 * time.Hour)
	sweepAll(e, now)
	if got := e.Client("u", "").Charge(Produce, 3000, now).Millis(); got != 2000 {
		t.Errorf("throttled by %d ms, want 2000", got)
	}
}

// TestFolding: beyond metrics.max.entities all share one, and nothing counted
// is lost or goes back.
func TestFolding(t *testing.T) {
	e, reg := watched(Options{Idle: time.Hour, MaxEntities: 2})
	now := time.Now()
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		alter(e, user(name), set(kafka.ProducerByteRate, 1000))
		e.Client(name, "").Charge(Produce, 1500, now)
	}
	bytes := func(owner string) float64 {
		client := ""
		if owner == "_other" {
			client = owner
		}
		v, there := scrape(t, reg)[fmt.Sprintf(`kaasd_quota_entity_bytes_total{client_id=%q,quota="produce",user=%q}`, client, owner)]
		if !there {
			return -1
		}
		return v
	}
	check := func(a, b, c, d, other float64) {
		t.Helper()
		got := []float64{bytes("a"), bytes("b"), bytes("c"), bytes("d"), bytes("_other")}
		if diff := cmp.Diff([]float64{a, b, c, d, other}, got); diff != "" {
			t.Errorf("bytes of a, b, c, d, _other (-want +got):\n%s", diff)
		}
	}
	check(1500, 1500, -1, -1, 3000)
	got := scrape(t, reg)
	if got[`kaasd_quota_entity_series{state="exported"}`] != 2 || got[`kaasd_quota_entity_series{state="folded"}`] != 2 {
		t.Errorf("exported and folded: %v", got)
	}
	if got := got[`kaasd_quota_entity_limit_bytes_per_second{client_id="_other",quota="produce",user="_other"}`]; got != 2000 {
		t.Errorf("limit of the others %g, want the sum", got)
	}

	// a is not named any more: c, which is named, takes its place when it is
	// next set; what a counts from now on goes to the others.
	alter(e, user("a"), remove(kafka.ProducerByteRate))
	alter(e, user("c"), set(kafka.ProducerByteRate, 2000))
	e.Client("a", "").Charge(Produce, 10, now)
	e.Client("c", "").Charge(Produce, 7, now)
	check(-1, 1500, 7, -1, 3010)

	sweepAll(e, now.Add(2*time.Hour))
	check(-1, 1500, 7, -1, 3010)
	if got := e.series.free; got != 0 {
		t.Errorf("%d slots free, want 0", got)
	}
}

func TestLabels(t *testing.T) {
	long := strings.Repeat("x", 200)
	for in, want := range map[string]string{
		"":                             "",
		"CN=app1,O=x":                  "CN=app1,O=x",
		"\xff\xfea":                    "\uFFFDa",
		long:                           long[:127] + "~",
		long[:128]:                     long[:128],
		strings.Repeat("\u00fc", 100):  strings.Repeat("\u00fc", 63) + "~",
		long[:126] + "\u20ac" + "rest": long[:126] + "~",
	} {
		if got := kafka.Label(in); got != want || len(got) > kafka.MaxLabel {
			t.Errorf("label of %q: got %q, want %q", in, got, want)
		}
	}
	// Two names that become equal share a series.
	e, reg := watched(DefaultOptions())
	e.SetBase(map[string]Limits{long: {kafka.ProducerByteRate: 1}, long + "y": {kafka.ProducerByteRate: 2}, "\xff": {kafka.ProducerByteRate: 3}})
	if got := scrape(t, reg)[fmt.Sprintf(`kaasd_quota_entity_limit_bytes_per_second{client_id="",quota="produce",user=%q}`, long[:127]+"~")]; got != 3 {
		t.Errorf("the shared series has a limit of %g, want 3", got)
	}
}
