package quota

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// TestConnections: goroutines that really wait, N of them for one user, get
// the rate together and not N times it.
func TestConnections(t *testing.T) {
	for _, conns := range []int{1, 5, 20, 100} {
		for _, k := range []Kind{Produce, Fetch} {
			t.Run(fmt.Sprintf("%v by %d", k, conns), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const rate = 10 * mB
					e := newEnforcer()
					e.SetBase(map[string]Limits{"ANONYMOUS": {kafka.ProducerByteRate: rate, kafka.ConsumerByteRate: rate}})
					got := throughput(e, k, conns, rate)
					if math.Abs(got/rate-1) > 0.01 {
						t.Errorf("rate %.0f B/s, want %d within 1 %%", got, rate)
					}
				})
			})
		}
	}
}

// throughput is what the connections get in the second minute. They stop when
// nothing holds them.
func throughput(e *Enforcer, k Kind, conns int, rate int64) float64 {
	var charged, whole atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for range conns {
		all.Go(func() {
			c := e.Client("ANONYMOUS", "c")
			for since := time.Duration(0); since < 2*time.Minute && whole.Load() < 200*rate; since = time.Since(begin) {
				n, throttle := oneRequest(c, k)
				whole.Add(int64(n))
				if since > time.Minute {
					charged.Add(int64(n))
				}
				if throttle.Muted() {
					wait(c.Mute(throttle))
				} else {
					<-time.After(10 * time.Microsecond)
				}
			}
		})
	}
	all.Wait()
	return float64(charged.Load()) / 60
}

func oneRequest(c *Client, k Kind) (int, Throttle) {
	const size = 64 * kB
	if k == Produce {
		return size, c.Charge(k, size, time.Now())
	}
	g := c.Take(k, mB, time.Now())
	if g.Throttle.Muted() {
		return 0, g.Throttle
	}
	n := max(g.Bytes/size, 1) * size
	return n, g.Settle(n, time.Now())
}

// TestConcurrentCharges: no charge is lost, whoever else charges, alters or
// looks.
func TestConcurrentCharges(t *testing.T) {
	const conns, charges, size = 8, 2000, 500
	e, reg := watched(DefaultOptions())
	e.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: mB, kafka.ConsumerByteRate: mB}})
	now := time.Now().Add(time.Minute)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			c := e.Client("u", fmt.Sprint(i))
			for range charges {
				c.Charge(Produce, size, now)
				if g := c.Take(Fetch, size, now); !g.Throttle.Muted() {
					g.Settle(0, now)
				}
			}
		})
	}
	for i := range 20 {
		alter(e, user("other"), set(kafka.ProducerByteRate, float64(i+1)))
		scrape(t, reg)
		e.Status(now, StatusFilter{})
		sweepAll(e, now)
	}
	all.Wait()
	b := e.accounts.get(kafka.UserEntity("u")).buckets[Produce]
	if got, want := b.debt(e.ticksOf(now)), float64(conns*charges*size-mB); math.Abs(got-want) > 1 {
		t.Errorf("%.0f bytes owed, want %.0f", got, want)
	}
	if got := b.totals(); got.units != conns*charges*size || got.checks != conns*charges {
		t.Errorf("counted %+v", got)
	}
	f := e.accounts.get(kafka.UserEntity("u")).buckets[Fetch]
	if owed, ahead := f.word.Load()-e.ticksOf(now), f.line.ahead.Load(); owed > -secTicks+msTicks || ahead != 0 {
		t.Errorf("fetch owes %d ticks and %d bytes are reserved after all was given back", owed, ahead)
	}
}
