package quota

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

func watchedKafka(o Options) (*Enforcer, *prometheus.Registry) {
	reg := prometheus.NewPedanticRegistry()
	return New(KafkaModel(DefaultWindows()), o, zap.NewNop(), reg), reg
}

// TestKafkaMetricsFromTheStart: everything that has fixed labels is there with
// 0, for what the model enforces and nothing else.
func TestKafkaMetricsFromTheStart(t *testing.T) {
	_, reg := watchedKafka(DefaultOptions())
	var want strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&want, format+" 0\n", args...) }
	clients := []string{"user+client-id", "user+client-default", "user", "user-default+client-id",
		"user-default+client-default", "user-default", "client-id", "client-default"}
	for quota, levels := range map[string][]string{
		"produce": clients, "fetch": clients, "request": clients, "mutation": clients, "connection": {"ip", "ip-default"},
	} {
		line(`kaasd_quota_checks_total{level="none",outcome="unlimited",quota=%q}`, quota)
		for _, level := range levels {
			for _, outcome := range []string{"within", "throttled"} {
				line(`kaasd_quota_checks_total{level=%q,outcome=%q,quota=%q}`, level, outcome, quota)
			}
		}
		line(`kaasd_quota_throttle_seconds{quota=%q}`, quota)
		line(`kaasd_quota_tracked_entities{quota=%q}`, quota)
		if quota != "connection" {
			line(`kaasd_quota_muted_connections{quota=%q}`, quota)
		}
	}
	for _, name := range []string{
		`kaasd_quota_configs{source="base"}`, `kaasd_quota_configs{source="override"}`,
		`kaasd_quota_alterations_total{result="applied"}`, `kaasd_quota_alterations_total{result="rejected"}`,
		`kaasd_quota_entity_series{state="exported"}`, `kaasd_quota_entity_series{state="folded"}`,
		`kaasd_ip_connections_refused_total{}`, `kaasd_quota_exempt_request_seconds_total{}`,
	} {
		line("%s", name)
	}
	checkSeries(t, scrape(t, reg), want.String())
}

// TestKafkaMetrics: what each kind counts, and O-e08: who is throttled, by
// which quota, and for how long.
func TestKafkaMetrics(t *testing.T) {
	e, reg := watchedKafka(DefaultOptions())
	now := e.clock.start
	for _, s := range []struct {
		entity, key string
		v           float64
	}{
		{"user=alice", kafka.RequestPercentage, 50}, {"user=alice", kafka.ProducerByteRate, 1000},
		{"user=alice, client-id=c", kafka.ConsumerByteRate, 500}, {"user", kafka.ControllerMutationRate, 2.5},
		{"client-id=c", kafka.ProducerByteRate, 100}, {"ip", kafka.ConnectionCreationRate, 1},
	} {
		giveAt(t, e, now, s.entity, s.key, s.v)
	}
	a := e.Client("alice", "c")
	a.Mute(a.Charge(Produce, 12_000, now))
	a.Take(Fetch, 100, now).Settle(50, now)
	a.Mute(a.Work(5500*ms, now)).Done()
	e.ExemptWork(250 * ms)
	a.Mutate(30, true, now)
	refusal, _ := a.Mutate(1, true, now)
	a.Mute(refusal).Done()
	e.Client("bob", "c").Charge(Produce, 10, now)
	e.Client("bob", "d").Charge(Fetch, 10, now)
	for range 12 {
		e.Admit("L", netip.MustParseAddr("1.2.3.4"), now)
	}
	got := scrape(t, reg)
	for name, want := range map[string]float64{
		`kaasd_quota_checks_total{level="user",outcome="throttled",quota="produce"}`:              1,
		`kaasd_quota_checks_total{level="client-id",outcome="within",quota="produce"}`:            1,
		`kaasd_quota_checks_total{level="user+client-id",outcome="within",quota="fetch"}`:         1,
		`kaasd_quota_checks_total{level="none",outcome="unlimited",quota="fetch"}`:                1,
		`kaasd_quota_checks_total{level="user",outcome="throttled",quota="request"}`:              1,
		`kaasd_quota_checks_total{level="user-default",outcome="within",quota="mutation"}`:        1,
		`kaasd_quota_checks_total{level="user-default",outcome="throttled",quota="mutation"}`:     1,
		`kaasd_quota_checks_total{level="ip-default",outcome="within",quota="connection"}`:        10,
		`kaasd_quota_checks_total{level="ip-default",outcome="throttled",quota="connection"}`:     2,
		`kaasd_ip_connections_refused_total{}`:                                                    2,
		`kaasd_quota_exempt_request_seconds_total{}`:                                              0.25,
		`kaasd_quota_muted_connections{quota="produce"}`:                                          1,
		`kaasd_quota_tracked_entities{quota="produce"}`:                                           2,
		`kaasd_quota_tracked_entities{quota="connection"}`:                                        1,
		`kaasd_quota_entity_limit_bytes_per_second{client_id="",quota="produce",user="alice"}`:    1000,
		`kaasd_quota_entity_limit_bytes_per_second{client_id="c",quota="produce",user=""}`:        100,
		`kaasd_quota_entity_limit_bytes_per_second{client_id="c",quota="fetch",user="alice"}`:     500,
		`kaasd_quota_entity_bytes_total{client_id="c",quota="produce",user=""}`:                   10,
		`kaasd_quota_entity_request_limit_ratio{client_id="",user="alice"}`:                       0.5,
		`kaasd_quota_entity_request_seconds_total{client_id="",user="alice"}`:                     5.5,
		`kaasd_quota_entity_throttle_seconds_total{client_id="",quota="request",user="alice"}`:    1,
		`kaasd_quota_entity_throttle_seconds_total{client_id="",quota="produce",user="alice"}`:    2,
		`kaasd_quota_entity_mutation_limit_per_second{client_id="",user="alice"}`:                 2.5,
		`kaasd_quota_entity_mutations_total{client_id="",user="alice"}`:                           30,
		`kaasd_quota_entity_throttled_requests_total{client_id="",quota="mutation",user="alice"}`: 1,
		`kafka_server_request_throttle_time{client_id="",user="alice"}`:                           1000,
		`kafka_server_produce_throttle_time{client_id="",user="alice"}`:                           2000,
		`kafka_server_fetch_throttle_time{client_id="c",user="alice"}`:                            0,
	} {
		if v, there := got[name]; !there || v != want {
			t.Errorf("%s is %g (there: %v), want %g", name, v, there, want)
		}
	}
	for name := range got {
		if strings.Contains(name, "1.2.3.4") {
			t.Errorf("an address is a label: %s", name)
		}
	}
}

// TestLevelsStayExact: when the level of a bucket changes, what was decided
// before stays with the old one, and nothing is counted twice or lost.
func TestLevelsStayExact(t *testing.T) {
	e, reg := watchedKafka(DefaultOptions())
	now := e.clock.start
	checks := func(level string, want float64) {
		t.Helper()
		if got := scrape(t, reg)[fmt.Sprintf(`kaasd_quota_checks_total{level=%q,outcome="within",quota="produce"}`, level)]; got != want {
			t.Errorf("%s counts %g, want %g", level, got, want)
		}
	}
	c := e.Client("u", "c")
	charge := func(n int) {
		for range n {
			c.Charge(Produce, 1, now)
		}
	}
	giveAt(t, e, now, "user", kafka.ProducerByteRate, 1e9)
	charge(3)
	giveAt(t, e, now, "user=u", kafka.ProducerByteRate, 1e9) // the same bucket, the same rate
	charge(4)
	checks("user-default", 3)
	checks("user", 4)
	giveAt(t, e, now, "user=u", kafka.ProducerByteRate, 0)
	charge(5)
	checks("user-default", 8)
	giveAt(t, e, now, "user", kafka.ProducerByteRate, 0)
	charge(6)
	checks("user-default", 8)
	checks("user", 4)
	if got := scrape(t, reg)[`kaasd_quota_checks_total{level="none",outcome="unlimited",quota="produce"}`]; got != 6 {
		t.Errorf("%g unlimited, want 6", got)
	}
	giveAt(t, e, now, "user=u, client-id", kafka.ProducerByteRate, 1e9)
	charge(7)
	giveAt(t, e, now, "user=u, client-id", kafka.ProducerByteRate, 0)
	sweepAll(e, now.Add(3*time.Hour)) // nobody is left
	checks("user+client-default", 7)
	checks("user-default", 8)
	checks("user", 4)
	if got := len(e.accounts.all); got != 0 {
		t.Errorf("%d accounts are left", got)
	}
}

// TestLevelsUnderLoad: counters never go back, whatever is altered while they
// are read.
func TestLevelsUnderLoad(t *testing.T) {
	e, reg := watchedKafka(Options{Idle: time.Hour, MaxEntities: 3, KafkaNames: true})
	r := rand.New(rand.NewPCG(1, 2))
	now := e.clock.start.Add(time.Minute)
	last, charged := map[string]float64{}, 0.0
	for range 300 {
		entity := components(randomEntity(r))
		op := set(kafka.ProducerByteRate, float64(1+r.IntN(1e6)))
		if r.IntN(2) == 0 {
			op = remove(kafka.ProducerByteRate)
		}
		e.Alter(context.Background(), now, []Alteration{{entity, []Op{op}}}, false)
		for range 20 {
			c := e.Client(string(rune('a'+r.IntN(3))), string(rune('x'+r.IntN(3))))
			if m := c.Mute(c.Charge(Produce, 1+r.IntN(1e6), now)); m != nil {
				m.Done()
			}
			charged++
		}
		now = now.Add(time.Duration(r.IntN(int(time.Minute))))
		e.sweep(e.ticksOf(now))
		got, sum := scrape(t, reg), 0.0
		for name, v := range got {
			if strings.HasPrefix(name, "kaasd_quota_checks_total") {
				if sum += v; v < last[name] {
					t.Fatalf("%s went from %g to %g", name, last[name], v)
				}
				last[name] = v
			}
		}
		if sum != charged {
			t.Fatalf("%g decisions are counted of %g", sum, charged)
		}
	}
}

// TestWhoGetsASeries holds O-e03: ten thousand random client ids under a default
// have 500 series and one more in each family, first those that are named,
// then those that were throttled first; totals are exact.
func TestWhoGetsASeries(t *testing.T) {
	e, reg := watchedKafka(DefaultOptions())
	now := e.clock.start.Add(time.Minute)
	for _, key := range keyOf {
		giveAt(t, e, now, "client-id", key, 1000)
	}
	const clients = 10_000
	bytes := 0.0
	for i := range clients {
		c := e.Client("u", fmt.Sprintf("c%05d", i))
		c.Charge(Fetch, 1, now) // never throttled
		bytes += 20_000
		now = now.Add(time.Microsecond)
		if i >= clients/2 { // the others are never throttled at all
			c.Mute(c.Charge(Produce, 20_000, now)).Done()
		} else {
			bytes -= 20_000
		}
	}
	scrape(t, reg) // who comes later finds no room, unless it is named
	give(t, e, "client-id=named", kafka.ProducerByteRate, 1000)
	got := scrape(t, reg)
	families, charged := map[string]int{}, 0.0
	for name, v := range got {
		family, labels, _ := strings.Cut(name, "{")
		if strings.Contains(labels, "client_id") {
			families[family+strings.Split(labels+"quota=,", "quota=")[1]]++
		}
		if family == "kaasd_quota_entity_bytes_total" && strings.Contains(labels, `"produce"`) {
			charged += v
		}
	}
	for family, n := range families {
		if n > 501 {
			t.Errorf("%s has %d series", family, n)
		}
	}
	if charged != bytes-20_000 { // one lost its series to the named one, and the count with it
		t.Errorf("%g bytes are told, %g were charged", charged, bytes)
	}
	series := func(name string) bool {
		_, there := got[fmt.Sprintf(`kaasd_quota_entity_bytes_total{client_id=%q,quota="produce",user=""}`, name)]
		return there
	}
	first := 0
	for i := range clients {
		switch there := series(fmt.Sprintf("c%05d", i)); {
		case there && (i < clients/2 || i >= clients/2+500):
			t.Errorf("client %d has a series", i)
		case there:
			first++
		}
	}
	if first != 499 || !series("named") {
		t.Errorf("%d of the first 500 that were throttled have a series, the named one: %v", first, series("named"))
	}
	if got[`kaasd_quota_entity_series{state="exported"}`] != 500 || got[`kaasd_quota_entity_series{state="folded"}`] != clients/2-499 {
		t.Errorf("exported %g, folded %g", got[`kaasd_quota_entity_series{state="exported"}`], got[`kaasd_quota_entity_series{state="folded"}`])
	}
	if got := got[`kaasd_quota_checks_total{level="client-default",outcome="throttled",quota="produce"}`]; got != clients/2 {
		t.Errorf("%g throttled in all", got)
	}
	sweepAll(e, now.Add(2*time.Hour))
	got = scrape(t, reg)
	if got[`kaasd_quota_entity_series{state="exported"}`] != 1 || got[`kaasd_quota_entity_series{state="folded"}`] != 0 || e.series.free != 499 {
		t.Errorf("after quota.idle: exported %g, %d slots free", got[`kaasd_quota_entity_series{state="exported"}`], e.series.free)
	}
}

// TestKafkaNames: rates over eleven seconds and throttles over a minute, and 0
// when nothing goes on; not a series of it when they are not wanted.
func TestKafkaNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, reg := watchedKafka(DefaultOptions())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		for key, v := range map[string]float64{kafka.ProducerByteRate: 1000, kafka.ConsumerByteRate: 1000, kafka.RequestPercentage: 10} {
			give(t, e, "user=u", key, v)
		}
		c := e.Client("u", "c")
		c.Mute(c.Charge(Produce, 13_000, time.Now())).Done()
		for range 60 {
			<-time.After(500 * ms)
			c.Charge(Produce, 500, time.Now())
			c.Work(5*ms, time.Now())
		}
		<-time.After(ms)
		name := func(metric string) string { return "kafka_server_" + metric + `{client_id="",user="u"}` }
		near := func(got map[string]float64, metric string, want float64) {
			t.Helper()
			if v, there := got[name(metric)]; !there || v < want*0.94 || v > want*1.06 {
				t.Errorf("%s is %g (there: %v), want %g", metric, v, there, want)
			}
		}
		got := scrape(t, reg)
		near(got, "produce_byte_rate", 1000)
		near(got, "request_request_time", 1)
		near(got, "fetch_byte_rate", 0)
		near(got, "produce_throttle_time", 3000)
		near(got, "fetch_throttle_time", 0)
		near(got, "request_throttle_time", 0)
		<-time.After(70 * time.Second)
		got = scrape(t, reg)
		near(got, "produce_byte_rate", 0)
		near(got, "produce_throttle_time", 0)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		o := DefaultOptions()
		o.KafkaNames = false
		e, reg = watchedKafka(o)
		give(t, e, "user=u", kafka.ProducerByteRate, 1)
		for name := range scrape(t, reg) {
			if strings.HasPrefix(name, "kafka_") {
				t.Errorf("%s is exported", name)
			}
		}
	})
}
