package quota

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"kaasd/internal/kafka"
)

// TestVectors: a bucket of 1000 B/s that holds a second's worth.
func TestVectors(t *testing.T) {
	type charge struct {
		at, bytes int
		want      int32 // ms
	}
	for _, c := range [][]charge{
		{{0, 1000, 0}, {0, 1, 1}, {0, 1, 2}},
		{{0, 10000, 9000}},
		{{0, 12000, 11000}, {2000, 100, 9100}},
		{{0, 12000, 11000}, {10999, 100, 101}},
		{{0, 5000, 4000}, {999, 6000, 9001}},
		{{0, 1000, 0}, {1000, 1000, 0}, {2000, 1000, 0}, {3000, 9000, 8000}},
		{{0, 60000, 59000}, {11000, 1, 48001}},
		{{0, 10000, 9000}, {0, 1000, 10000}, {0, 1000, 11000}},
		{{0, 2000, 1000}, {3600000, 1000, 0}, {3600000, 1000, 1000}}, // idling stores no more than a second
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			l := newLoad(kB, 0)
			client := l.enforcer.Client("u", "")
			for _, step := range c {
				got := client.Charge(Produce, step.bytes, l.now.Add(time.Duration(step.at)*time.Millisecond))
				if got.Millis() != step.want || got.Muted() != (step.want > 0) {
					t.Errorf("%+v: got %d ms", step, got.Millis())
				}
			}
		})
	}
}

// TestBelowAMillisecond: it is not announced, and stays owed.
func TestBelowAMillisecond(t *testing.T) {
	l := newLoad(mB, 0)
	c := l.enforcer.Client("u", "")
	c.Charge(Produce, mB, l.now)
	if got := c.Charge(Produce, 999, l.now); got.Muted() || got.Millis() != 0 {
		t.Errorf("0.999 ms: announced %d ms", got.Millis())
	}
	if got := c.Charge(Produce, 2, l.now); got.Millis() != 2 {
		t.Errorf("1.001 ms: announced %d ms, want it rounded up to 2", got.Millis())
	}
}

func TestThrottleBounds(t *testing.T) {
	l := newLoad(1, 0)
	c := l.enforcer.Client("u", "")
	for range 4 { // past the int32, past the 30 days, and on
		if got := c.Charge(Produce, math.MaxInt32, l.now).Millis(); got != math.MaxInt32 {
			t.Errorf("got %d ms, want the largest int32", got)
		}
	}
	told := c.Charge(Produce, 1, l.now)
	m := c.Mute(told)
	defer m.Done()
	if got := m.Remaining(l.now); got != math.MaxInt32*time.Millisecond {
		t.Errorf("muted for %v, told the largest int32", got)
	}
	g := c.Take(Fetch, math.MaxInt, l.now)
	if got := g.Settle(math.MaxInt32, l.now).Millis(); got != math.MaxInt32 {
		t.Errorf("got %d ms, want the largest int32", got)
	}
	if got := (Throttle{}).Millis(); got != 0 || (Throttle{}).Muted() || c.Mute(Throttle{}) != nil {
		t.Errorf("the zero throttle announces %d ms", got)
	}
}

// oracle is the bucket as a mutex would guard it: exact fractions, the plain
// way.
type oracle struct {
	rate    *big.Rat
	balance *big.Rat // bytes; below zero is debt
	at      int64    // ns
}

func (o *oracle) to(at int64) {
	earned := new(big.Rat).Mul(o.rate, big.NewRat(at-o.at, 1e9))
	o.balance.Add(o.balance, earned)
	if o.balance.Cmp(o.rate) > 0 {
		o.balance.Set(o.rate)
	}
	o.at = at
}

// charge gives the nanoseconds until the balance is zero, as many as
// throttle_time_ms can say.
func (o *oracle) charge(n int, at int64) float64 {
	o.to(at)
	o.balance.Sub(o.balance, new(big.Rat).SetInt64(int64(n)))
	if most := new(big.Rat).Mul(o.rate, big.NewRat(-30*24*3600, 1)); o.balance.Cmp(most) < 0 {
		o.balance.Set(most)
	}
	owed := new(big.Rat).Neg(o.balance)
	ns, _ := owed.Quo(owed, o.rate).Float64()
	return min(max(ns*1e9, 0), math.MaxInt32*1e6)
}

// setRate keeps the bytes; more than a second's worth overflows.
func (o *oracle) setRate(rate float64, at int64) {
	o.to(at)
	o.rate = new(big.Rat).SetFloat64(rate)
	o.charge(0, at)
}

func TestOracle(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		rate := math.Ceil(math.Pow(10, 3+6*r.Float64()))
		l := newLoad(rate, 0)
		c := l.enforcer.Client("u", "")
		o := &oracle{rate: new(big.Rat).SetFloat64(rate), balance: new(big.Rat).SetFloat64(rate)}
		for step := range 200 {
			at := l.now.Sub(l.begin).Nanoseconds()
			switch r.IntN(10) {
			case 0:
				rate = math.Ceil(math.Pow(10, 3+6*r.Float64()))
				l.enforcer.Alter(context.Background(), l.now, []Alteration{{user("u"), []Op{set(kafka.ProducerByteRate, rate)}}}, false)
				o.setRate(rate, at)
			case 1, 2, 3:
				l.now = l.now.Add(time.Duration(r.ExpFloat64() * 1e9))
			default:
				n := 1 + int(r.ExpFloat64()*rate/4)
				got, want := c.Charge(Produce, n, l.now), o.charge(n, at)
				if want < 1e6-1 && got.Muted() || want > 1e6+1e3 && !got.Muted() ||
					got.Muted() && math.Abs(float64(got.wait())/tick-want) > 1e3+want*1e-6 {
					t.Fatalf("seed %d step %d: wait %v, want %v", seed, step, time.Duration(got.wait()/tick), time.Duration(want))
				}
			}
		}
	}
}

// TestLiveUpdate: a changed user quota updates the existing bucket live, and
// keeps the debt in bytes.
func TestLiveUpdate(t *testing.T) {
	l := newLoad(2000, 0)
	c := l.enforcer.Client("u", "")
	charge := func(n int, want int32) {
		t.Helper()
		if got := c.Charge(Produce, n, l.now).Millis(); got != want {
			t.Errorf("charge of %d bytes: got %d ms, want %d", n, got, want)
		}
	}
	rate := func(v float64) {
		alterAt(l.enforcer, l.now, set(kafka.ProducerByteRate, v))
	}
	charge(12000, 5000) // 10,000 bytes owed
	rate(5000)
	charge(0, 2000)
	rate(500)
	charge(0, 20000)
	l.now = l.now.Add(10 * time.Second)
	charge(0, 10000)
	l.enforcer.SetBase(map[string]Limits{"u": {kafka.ProducerByteRate: 1}})
	charge(0, 10000) // the override wins
	alterAt(l.enforcer, l.now, remove(kafka.ConsumerByteRate), remove(kafka.ProducerByteRate))
	l.enforcer.SetBase(nil)
	charge(1<<30, 0) // no quota
	rate(1000)
	charge(1000, 0) // forgiven, and full
	charge(1000, 1000)
}

func alterAt(e *Enforcer, now time.Time, ops ...Op) {
	e.Alter(context.Background(), now, []Alteration{{user("u"), ops}}, false)
}

// TestFirstQuota: a connection that came before its user had a quota is caught
// at its next request, with a full bucket to start with.
func TestFirstQuota(t *testing.T) {
	e := newEnforcer()
	now := time.Now()
	c := e.Client("ANONYMOUS", "")
	if got := c.Charge(Produce, 1<<30, now).Millis(); got != 0 {
		t.Errorf("throttled by %d ms without a quota", got)
	}
	alter(e, user("ANONYMOUS"), set(kafka.ProducerByteRate, 1000))
	now = time.Now()
	if got := c.Charge(Produce, 1000, now).Millis(); got != 0 {
		t.Errorf("a new bucket is not full: throttled by %d ms", got)
	}
	if got := e.Client("ANONYMOUS", "other").Charge(Produce, 1000, now).Millis(); got != 1000 {
		t.Errorf("another connection of the user: got %d ms, want 1000", got)
	}
	if got := e.Client("anonymous", "").Charge(Produce, 1<<30, now).Millis(); got != 0 {
		t.Errorf("another user is throttled by %d ms", got)
	}
}

// TestDirections: each direction has its own balance and its own refill.
func TestDirections(t *testing.T) {
	l := newLoad(1000, 0)
	c := l.enforcer.Client("u", "")
	c.Charge(Produce, 11000, l.now)
	c.Take(Fetch, 1, l.now).Settle(6000, l.now)
	for range 5 { // produce goes on; fetch earns its own
		l.now = l.now.Add(time.Second)
		c.Charge(Produce, 0, l.now)
	}
	if got := c.Charge(Produce, 0, l.now).Millis(); got != 5000 {
		t.Errorf("produce owes %d ms, want 5000", got)
	}
	if g := c.Take(Fetch, 1, l.now); g.Throttle.Muted() {
		t.Errorf("fetch still owes %d ms after it has earned them", g.Throttle.Millis())
	}
}

// TestFetch: what a fetch takes, gives back, and owes.
func TestFetch(t *testing.T) {
	l := newLoad(1000, 0)
	c := l.enforcer.Client("u", "")
	c.Take(Fetch, 0, l.now).Settle(0, l.now)
	l.now = l.now.Add(2 * time.Second) // no stranger any more
	g := c.Take(Fetch, 5000, l.now)
	if g.Bytes != 1000 {
		t.Errorf("granted %d bytes, want the balance of 1000", g.Bytes)
	}
	if got := g.Settle(400, l.now).Millis(); got != 0 {
		t.Errorf("throttled by %d ms", got)
	}
	g = c.Take(Fetch, 5000, l.now)
	if g.Bytes != 600 {
		t.Errorf("granted %d bytes, want the 600 that were given back", g.Bytes)
	}
	// The first batch is handed out whole, its excess is debt.
	if got := g.Settle(100_600, l.now).Millis(); got != 100_000 {
		t.Errorf("announced %d ms, want 100000", got)
	}
	g = c.Take(Fetch, 5000, l.now)
	if !g.Throttle.Muted() || g.Throttle.Millis() < 100_000 || g.Bytes != 0 {
		t.Errorf("in debt: got %d ms and %d bytes", g.Throttle.Millis(), g.Bytes)
	}
	// The empty answer was not charged.
	l.now = l.now.Add(100 * time.Second)
	if g = c.Take(Fetch, 5000, l.now); g.Throttle.Muted() {
		t.Errorf("after the debt was paid: %d ms", g.Throttle.Millis())
	}
	// A limit that changes while a fetch reads: what was taken comes back.
	alterAt(l.enforcer, l.now, set(kafka.ConsumerByteRate, 10))
	g.Settle(0, l.now)
	l.now = l.now.Add(100 * time.Second)
	if g = c.Take(Fetch, 5000, l.now); g.Bytes != 10 {
		t.Errorf("granted %d bytes, want 10", g.Bytes)
	}
}

// TestFetchWithoutQuota: everything may be handed out.
func TestFetchWithoutQuota(t *testing.T) {
	c := newEnforcer().Client("u", "")
	g := c.Take(Fetch, 5000, time.Now())
	if g.Bytes != 5000 || g.Settle(9000, time.Now()).Muted() {
		t.Errorf("granted %d bytes", g.Bytes)
	}
	if g = c.Take(Fetch, -1, time.Now()); g.Bytes != 0 {
		t.Errorf("granted %d bytes for -1", g.Bytes)
	}
}

// TestThrottlingIsWhatHolds: the measure of the rate tests sees it when
// nobody is muted.
func TestThrottlingIsWhatHolds(t *testing.T) {
	l := newLoad(mB, 20)
	for conn := range l.perConn {
		c := l.enforcer.Client("u", "c")
		var request func()
		request = func() {
			l.answer(conn, 16*kB, c.Charge(Produce, 16*kB, l.now))
			l.after(time.Millisecond, request) // and reads on
		}
		l.after(0, request)
	}
	end := l.begin.Add(10 * time.Second)
	l.run(func() bool { return l.now.After(end) })
	if got := float64(l.charged) / 10; got < 2*mB {
		t.Errorf("rate without mutes %.0f B/s, want far above the limit", got)
	}
}

// TestLongTime: a bucket is full after any time, also when ticks have turned
// over.
func TestLongTime(t *testing.T) {
	l := newLoad(1000, 0)
	c := l.enforcer.Client("u", "")
	c.Charge(Produce, 5000, l.now)
	for range 10 {
		for range 90 {
			l.now = l.now.Add(24 * time.Hour)
			l.enforcer.accounts.get(kafka.UserEntity("u")).buckets[Produce].bringNear(l.enforcer.clock.ticks(l.now))
		}
		if got := c.Charge(Produce, 3000, l.now).Millis(); got != 2000 {
			t.Fatalf("after %v: %d ms, want 2000", l.now.Sub(l.begin), got)
		}
	}
}

func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(bucket{}); size != 128 {
		t.Errorf("a bucket has %d bytes, want two cache lines", size)
	}
	if size := unsafe.Sizeof(account{}); size > 192 {
		t.Errorf("an account has %d bytes without its buckets", size)
	}
}
