package quota

import (
	"fmt"
	"math"
	"testing"
	"time"
)

const (
	kB = 1000
	mB = 1000 * kB
	gB = 1000 * mB
)

// loadCases calls f for every rate, number of connections and size whose first
// round of debt can be said in throttle_time_ms; in short, without the crowds.
func loadCases(t *testing.T, f func(t *testing.T, rate float64, conns, size int)) {
	for _, rate := range []float64{kB, 64 * kB, mB, 10 * mB, 100 * mB, gB} {
		for _, conns := range []int{1, 20, 100, 1000} {
			for _, size := range []int{kB, 16 * kB, mB, 10 * mB} {
				if float64(conns*size)/rate > math.MaxInt32/1000 || testing.Short() && conns == 1000 {
					continue
				}
				t.Run(fmt.Sprintf("%g B-s/%d connections/%d bytes", rate, conns, size), func(t *testing.T) {
					f(t, rate, conns, size)
				})
			}
		}
	}
}

// service is short enough for the connections to ask for more than the rate.
func service(rate float64, conns, size int) time.Duration {
	whole := float64(size) / rate * float64(conns) * 1e9
	return time.Duration(max(min(whole/4, 20_000), 1))
}

// measure is the long-run rate, from when every connection was throttled once.
// It gives up when nothing holds the connections.
func measure(l *load, rate float64, size int) float64 {
	away := func() bool {
		earned := rate * (l.burst + l.now.Sub(l.begin).Seconds())
		return float64(l.charged) > 3*earned+float64(3*(len(l.perConn)+1)*size)
	}
	l.run(func() bool { return l.unmuted == 0 || away() })
	from, charged, answers := l.now, l.charged, l.answers
	span := time.Duration(max(400*float64(size)/rate, 1+2e8/(rate+1e8)) * 1e9) // 3 s, less at 1 GB/s
	l.run(func() bool {
		return away() || l.now.Sub(from) >= span && l.answers-answers >= 3*len(l.perConn)
	})
	return float64(l.charged-charged) / l.now.Sub(from).Seconds()
}

func TestProduceRate(t *testing.T) {
	loadCases(t, func(t *testing.T, rate float64, conns, size int) {
		l := newLoad(rate, conns)
		l.produce(size, service(rate, conns, size))
		if got := measure(l, rate, size); math.Abs(got/rate-1) > 0.01 {
			t.Errorf("long-run rate %.0f B/s, want %.0f within 1 %%", got, rate)
		}
		books(t, l, rate)
	})
}

// books holds that all charges are the burst and what was earned until the
// last answer's throttle is over.
func books(t *testing.T, l *load, rate float64) {
	t.Helper()
	want := rate*l.burst + rate*l.paid.Sub(l.begin).Seconds()
	if got := float64(l.charged); math.Abs(got/want-1) > 0.002 {
		t.Errorf("%.0f bytes charged, want %.0f within 0.2 %%", got, want)
	}
}

func TestFetchRate(t *testing.T) {
	loadCases(t, func(t *testing.T, rate float64, conns, size int) {
		l := newLoad(rate, conns)
		l.fetch(size, max(size, mB), service(rate, conns, size))
		if got := measure(l, rate, size); math.Abs(got/rate-1) > 0.01 {
			t.Errorf("long-run rate %.0f B/s, want %.0f within 1 %%", got, rate)
		}
		looks := 0 // before a turn that is further away than patience
		if patience := time.Duration(patience >> tickShift); float64(conns*size)/rate > patience.Seconds() {
			looks = int(l.now.Sub(l.begin)/patience) * conns
		}
		if l.empties > 2*l.answers+3*conns+looks {
			t.Errorf("%d empty answers beside %d with data", l.empties, l.answers)
		}
		if conns == 1 {
			books(t, l, rate)
		}
	})
}
