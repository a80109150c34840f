package quota

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// levelEntities is one entity at each level that u with c falls under.
var levelEntities = []string{
	"user=u, client-id=c", "user=u, client-id", "user=u", "user, client-id=c", "user, client-id", "user", "client-id=c", "client-id",
}

// newKafkaLoad is a load of u with c, whom an entity limits.
func newKafkaLoad(t *testing.T, entity, key string, v float64, conns int) *load {
	t.Helper()
	e := newKafka()
	give(t, e, entity, key, v)
	begin := e.clock.start.Add(time.Hour)
	return &load{
		enforcer: e, begin: begin, now: begin, burst: 10,
		perConn: make([]int64, conns), muted: make([]bool, conns), unmuted: conns,
	}
}

// TestKafkaVectors is a bucket of 1000 a second that holds ten seconds' worth:
// its first throttle is Kafka's, and its debts are paid, not forgotten.
func TestKafkaVectors(t *testing.T) {
	for in, want := range map[string]string{
		"0:10000":                              "0",
		"0:10001":                              "1",
		"0:12000":                              "2000",
		"0:12000 2000:100":                     "2000 100",
		"0:12000 2500:100":                     "2000 0",
		"0:12000 10999:100":                    "2000 0",
		"0:12000 11000:100":                    "2000 0",
		"0:5000 999:6000":                      "0 1",
		"0:5000 1000:6000":                     "0 0",
		"0:1000 1000:1000 2000:1000 3000:9000": "0 0 0 0",
		"0:60000 10999:1":                      "50000 39002",
		"0:60000 11000:1":                      "50000 39001",
		"0:10000 0:1000 0:1000 0:1000 0:1000":  "0 1000 2000 3000 4000",
		"0:10000 10900:10000":                  "0 0",
		"0:10000 11000:10000":                  "0 0",
	} {
		t.Run(in, func(t *testing.T) {
			for _, entity := range levelEntities {
				l := newKafkaLoad(t, entity, kafka.ProducerByteRate, 1000, 0)
				c := l.enforcer.Client("u", "c")
				var got []string
				for _, step := range strings.Fields(in) {
					var at, n int
					if _, err := fmt.Sscanf(step, "%d:%d", &at, &n); err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprint(c.Charge(Produce, n, l.now.Add(time.Duration(at)*time.Millisecond)).Millis()))
				}
				if strings.Join(got, " ") != want {
					t.Errorf("%s: got %v, want %s", entity, got, want)
				}
			}
		})
	}
}

// TestLiveChanges is Kafka's example of a limit that changes under a debt, in
// bytes that are owed and not judged anew: 27,500 of 2,000 a second are 7,500
// above the burst.
func TestLiveChanges(t *testing.T) {
	l := newKafkaLoad(t, "client-id=c", kafka.ProducerByteRate, 2000, 0)
	c := l.enforcer.Client("u", "c")
	charge := func(n int, want int32) {
		t.Helper()
		if got := c.Charge(Produce, n, l.now).Millis(); got != want {
			t.Errorf("%d bytes: %d ms, want %d", n, got, want)
		}
	}
	rate := func(entity string, v float64) { giveAt(t, l.enforcer, l.now, entity, kafka.ProducerByteRate, v) }
	charge(27500, 3750)
	rate("client-id=c", 3000)
	charge(0, 2500)
	rate("client-id=c", 500)
	charge(0, 15000)
	rate("client-id", 4000) // hidden
	charge(0, 15000)
	rate("client-id=c", 0) // the same bucket under another level: the debt is kept
	charge(0, 1875)
	rate("user", 1000) // another bucket: full, and the old one is free
	charge(10_000, 0)
	rate("user", 0)
	charge(40_000, 0)
	rate("client-id", 0)
	charge(1<<30, 0) // T32
	rate("user=u", 1000)
	charge(10_000, 0)
	charge(1, 1)
	if got := c.Charge(Produce, 1<<31-1, l.now).Millis(); got != math.MaxInt32 { // T33
		t.Errorf("got %d ms", got)
	}
}

// TestKafkaProduceRate is the long-run rate and the books of each level, and of
// pairs, by number and size of requests.
func TestKafkaProduceRate(t *testing.T) {
	for _, entity := range levelEntities {
		for _, rate := range []float64{64 * kB, 10 * mB} {
			for _, conns := range []int{1, 20, 100} {
				for _, size := range []int{kB, 100 * kB, mB} {
					t.Run(fmt.Sprintf("%s/%g B-s/%d connections/%d bytes", entity, rate, conns, size), func(t *testing.T) {
						l := newKafkaLoad(t, entity, kafka.ProducerByteRate, rate, conns)
						l.produce(size, service(rate, conns, size))
						if got := measure(l, rate, size); math.Abs(got/rate-1) > 0.01 {
							t.Errorf("long-run rate %.0f B/s, want %.0f within 1 %%", got, rate)
						}
						books(t, l, rate)
					})
				}
			}
		}
	}
}

// TestKafkaFetchRate is the same for consumers, and how they share.
func TestKafkaFetchRate(t *testing.T) {
	for _, entity := range levelEntities {
		for _, rate := range []float64{64 * kB, mB, 10 * mB} {
			for _, conns := range []int{1, 5, 20} {
				t.Run(fmt.Sprintf("%s/%g B-s/%d connections", entity, rate, conns), func(t *testing.T) {
					l := newKafkaLoad(t, entity, kafka.ConsumerByteRate, rate, conns)
					l.lateness = time.Millisecond
					l.fetch(16*kB, mB, 100*time.Microsecond)
					if got := measure(l, rate, 16*kB); math.Abs(got/rate-1) > 0.01 {
						t.Errorf("long-run rate %.0f B/s, want %.0f within 1 %%", got, rate)
					}
					end := l.now.Add(30 * time.Second)
					clear(l.perConn)
					l.run(func() bool { return l.now.After(end) })
					if least, most := slices.Min(l.perConn), slices.Max(l.perConn); float64(most) > 1.3*float64(least)+float64(32*kB) {
						t.Errorf("shares from %d to %d bytes: %v", least, most, l.perConn)
					}
					if conns == 1 {
						books(t, l, rate)
					}
				})
			}
		}
	}
}

// TestWindows: the rate does not depend on how much a full bucket holds.
func TestWindows(t *testing.T) {
	for _, w := range []Windows{{1, time.Second, 1, time.Second}, {2, time.Second, 1, time.Second}, {11, 10 * time.Second, 1, time.Second}} {
		for _, k := range []Kind{Produce, Fetch} {
			for _, conns := range []int{1, 20} {
				t.Run(fmt.Sprintf("%v of %d x %v by %d", k, w.Num, w.Size, conns), func(t *testing.T) {
					l := newKafkaLoad(t, "user", keyOf[k], mB, conns)
					l.enforcer = New(KafkaModel(w), DefaultOptions(), zap.NewNop(), nil)
					l.burst = (time.Duration(max(w.Num-1, 1)) * w.Size).Seconds()
					give(t, l.enforcer, "user", keyOf[k], mB)
					if k == Produce {
						l.produce(16*kB, 100*time.Microsecond)
					} else {
						l.fetch(16*kB, mB, 100*time.Microsecond)
					}
					if got := measure(l, mB, 16*kB); math.Abs(got/mB-1) > 0.01 {
						t.Errorf("long-run rate %.0f B/s, want %d within 1 %%", got, mB)
					}
					if k == Produce || conns == 1 { // else some of what is earned is lost while requests are served
						books(t, l, mB)
					}
				})
			}
		}
	}
}

// TestOneWindow: with a single window a bucket still holds what a wait that ends a
// little late earns too much, so that consumers of small batches get their rate.
func TestOneWindow(t *testing.T) {
	for _, conns := range []int{1, 5} {
		l := newKafkaLoad(t, "user", kafka.ConsumerByteRate, 200*kB, conns)
		l.enforcer = New(KafkaModel(Windows{1, time.Second, 1, time.Second}), DefaultOptions(), zap.NewNop(), nil)
		l.burst, l.lateness = 1, time.Millisecond
		give(t, l.enforcer, "user", kafka.ConsumerByteRate, 200*kB)
		l.fetch(kB, 5*mB, 200*time.Microsecond)
		if got := measure(l, 200*kB, kB) / (200 * kB); math.Abs(got-1) > 0.01 {
			t.Errorf("%d consumers get %.3f of their quota", conns, got)
		}
	}
}

// TestBatchAboveTheWindow holds T25 and O-b01: a batch of more than ten seconds'
// worth is handed out once the debt is paid, and no fetch comes back empty for
// ever.
func TestBatchAboveTheWindow(t *testing.T) {
	l := newKafkaLoad(t, "user", kafka.ConsumerByteRate, 100, 1)
	l.fetch(5000, mB, time.Millisecond)
	end := l.begin.Add(time.Hour)
	l.run(func() bool { return l.now.After(end) })
	if got := float64(l.charged) / 3600; got < 99 || got > 103 {
		t.Errorf("%.1f B/s, want 100", got)
	}
	if l.empties > l.answers {
		t.Errorf("%d empty answers, %d with data", l.empties, l.answers)
	}
}

// TestOneBurst holds O-b10: a burst is paid once, small requests pass then,
// and idling stores no more than the bucket.
func TestOneBurst(t *testing.T) {
	l := newKafkaLoad(t, "user=u", kafka.ProducerByteRate, mB, 0)
	c := l.enforcer.Client("u", "c")
	if got := c.Charge(Produce, 18*mB, l.now.Add(time.Minute)).Millis(); got != 8000 {
		t.Errorf("the burst: %d ms, want 8000", got)
	}
	for i := range 200 {
		at := l.now.Add(time.Minute + 8*time.Second + time.Duration(i)*100*time.Millisecond)
		if got := c.Charge(Produce, 10*kB, at); got.Muted() && i > 0 {
			t.Errorf("request %d: %d ms", i, got.Millis())
		}
	}
}

// TestReconnecting holds T48: who comes back for every request, with another
// connection each time, gets the rate.
func TestReconnecting(t *testing.T) {
	l := newKafkaLoad(t, "user, client-id", kafka.ProducerByteRate, 1000, 0)
	charged := 0
	for l.now.Sub(l.begin) < 10*time.Minute {
		c := l.enforcer.Client("u", "c")
		if m := c.Join(Produce, l.now); m != nil {
			l.now = l.now.Add(m.Remaining(l.now))
			m.Done()
		}
		c.Charge(Produce, 900, l.now)
		charged += 900
		l.now = l.now.Add(time.Millisecond)
	}
	took := l.now.Sub(l.begin).Seconds()
	if most := 1000*(10+took) + (maxJoin+1)*900; float64(charged) > most || float64(charged) < 990*took {
		t.Errorf("%d bytes in %.0f s at 1000 a second", charged, took)
	}
}
