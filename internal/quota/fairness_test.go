package quota

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"kaasd/internal/kafka"
)

// TestFairness holds twenty equal consumers of one user against each other.
func TestFairness(t *testing.T) {
	for _, c := range []struct {
		rate        float64
		batch, want int
		lateness    time.Duration
	}{
		{mB, 16 * kB, mB, 0},
		{mB, 16 * kB, mB, time.Millisecond},
		{mB, kB, 64 * kB, time.Millisecond},
		{64 * kB, 2 * kB, mB, time.Millisecond},
		{10 * mB, 16 * kB, mB, 5 * time.Millisecond},
		{10 * mB, 100 * kB, 100 * kB, 50 * time.Millisecond},
		{100 * mB, 16 * kB, mB, time.Millisecond},
		{gB, mB, mB, 200 * time.Microsecond},
	} {
		t.Run(fmt.Sprintf("%g B-s in batches of %d, %v late", c.rate, c.batch, c.lateness), func(t *testing.T) {
			l := newLoad(c.rate, 20)
			l.lateness = c.lateness
			l.fetch(c.batch, c.want, 100*time.Microsecond)
			end := l.begin.Add(30 * time.Second)
			l.run(func() bool { return l.now.After(end) })
			least, most := slices.Min(l.perConn), slices.Max(l.perConn)
			if float64(most) > 1.2*float64(least) {
				t.Errorf("shares from %d to %d bytes, want them within 20 %%: %v", least, most, l.perConn)
			}
			if l.empties > l.answers/4+5*20 {
				t.Errorf("%d empty answers beside %d with data, want them to take turns", l.empties, l.answers)
			}
		})
	}
}

// TestProduceFairness: produce needs no turns, each debt is paid in order.
func TestProduceFairness(t *testing.T) {
	l := newLoad(mB, 20)
	l.produce(16*kB, 100*time.Microsecond)
	end := l.begin.Add(30 * time.Second)
	l.run(func() bool { return l.now.After(end) })
	if least, most := slices.Min(l.perConn), slices.Max(l.perConn); float64(most) > 1.2*float64(least) {
		t.Errorf("shares from %d to %d bytes, want them within 20 %%", least, most)
	}
}

// TestMixedBatches: batches of very different sizes, some worth many seconds,
// neither starve a consumer nor lose rate.
func TestMixedBatches(t *testing.T) {
	for _, conns := range []int{1, 2, 5, 20} {
		t.Run(fmt.Sprintf("%d connections", conns), func(t *testing.T) {
			const rate = 64 * kB
			l := newLoad(rate, conns)
			sizes := []int{mB, kB, 10 * kB, 100 * kB, kB}
			for conn := range conns {
				fetchMixed(l, conn, sizes)
			}
			l.run(func() bool { return l.unmuted == 0 })
			from, charged := l.now, l.charged
			l.run(func() bool { return l.now.Sub(from) > time.Hour })
			if got := float64(l.charged-charged) / l.now.Sub(from).Seconds(); got < 0.9*rate || got > 1.01*rate {
				t.Errorf("long-run rate %.0f B/s, want %d", got, rate)
			}
			if least, most := slices.Min(l.perConn), slices.Max(l.perConn); float64(most) > 1.5*float64(least) {
				t.Errorf("shares from %d to %d bytes", least, most)
			}
		})
	}
}

// fetchMixed reads batches of sizes in turn, as many as fit.
func fetchMixed(l *load, conn int, sizes []int) {
	c, next := l.enforcer.Client("u", "c"), conn
	var request func()
	request = func() {
		g := c.Take(Fetch, mB, l.now)
		if g.Throttle.Muted() {
			l.empties++
			l.rest(conn, c, g.Throttle, time.Millisecond, request)
			return
		}
		used := 0
		for used == 0 || used+sizes[next%len(sizes)] <= g.Bytes {
			used += sizes[next%len(sizes)]
			next++
		}
		th := g.Settle(used, l.now)
		l.answer(conn, used, th)
		l.rest(conn, c, th, time.Millisecond, request)
	}
	l.after(time.Duration(conn), request)
}

// TestFarTurnsAreAnnouncedInSteps: a round of the line lasts 100 s, longer than
// clients keep a connection that is still. Nobody is sent away for so long, and
// everybody keeps the turn.
func TestFarTurnsAreAnnouncedInSteps(t *testing.T) {
	const conns = 20
	l := newLoad(200*kB, conns)
	l.fetch(mB, mB, time.Millisecond)
	end := l.begin.Add(time.Hour)
	l.run(func() bool { return l.now.After(end) })
	if l.longest > 5000 || l.longest < 4900 {
		t.Errorf("the longest throttle was %d ms, want 5 s and no more", l.longest)
	}
	if least, most := slices.Min(l.perConn), slices.Max(l.perConn); float64(most) > 1.1*float64(least) {
		t.Errorf("shares from %d to %d bytes", least, most)
	}
	if got := float64(l.charged) / l.now.Sub(l.begin).Seconds(); math.Abs(got/(200*kB)-1) > 0.01 {
		t.Errorf("long-run rate %.0f B/s, want %d", got, 200*kB)
	}
}

// TestHerd: a hundred consumers that come in the same moment do not all get
// the full bucket.
func TestHerd(t *testing.T) {
	l := newLoad(mB, 0)
	granted, grants := 0, 0
	var open []Grant
	for range 100 {
		g := l.enforcer.Client("u", "c").Take(Fetch, 50*mB, l.now)
		if g.Throttle.Muted() {
			continue
		}
		granted += g.Bytes
		grants++
		open = append(open, g)
	}
	if granted > mB || grants > strangers+1 {
		t.Errorf("%d consumers were granted %d bytes of a bucket of %d", grants, granted, mB)
	}
	for _, g := range open {
		g.Settle(0, l.now)
	}
	if zero, now := zeroOf(l, Fetch), l.enforcer.clock.ticks(l.now); zero != now-secTicks {
		t.Errorf("after all was given back the balance is off by %v", time.Duration(zero-now+secTicks)>>tickShift)
	}
}

// TestLineOfTheGone: turns promised to connections that went away do not keep
// the others waiting.
func TestLineOfTheGone(t *testing.T) {
	l := newLoad(mB, 0)
	l.enforcer.Client("u", "c").Take(Fetch, 2*mB, l.now).Settle(2*mB, l.now)
	for range 10_000 { // they connect, are throttled, and are gone
		l.turnAway("c").Done()
	}
	wait := l.turnAway("c").Remaining(l.now)
	if wait > 6*time.Second {
		t.Errorf("the next one waits %v for a debt of 1s", wait)
	}
}

// TestNewShift: connections that come when others have just left, muted, and
// were promised turns, share what there is and lose no rate.
func TestNewShift(t *testing.T) {
	const rate = 10 * mB
	l := newLoad(rate, 100)
	l.lateness = time.Millisecond
	for shift := range 4 {
		l.shift = shift
		clear(l.perConn)
		l.fetch(16*kB, 50*kB, 100*time.Microsecond)
		end := l.now.Add(10 * time.Second)
		l.run(func() bool { return l.now.After(end) })
		if least, most := slices.Min(l.perConn), slices.Max(l.perConn); float64(most) > 2*float64(least) {
			t.Errorf("shift %d: shares from %d to %d bytes", shift, least, most)
		}
		if got := float64(l.charged) / (rate * (1 + l.now.Sub(l.begin).Seconds())); got < 0.99 || got > 1.001 {
			t.Errorf("shift %d: %.3f of what was earned is charged", shift, got)
		}
	}
}

// zeroOf is the word of the bucket.
func zeroOf(l *load, k Kind) int64 {
	return l.enforcer.accounts.get(kafka.UserEntity("u")).buckets[k].word.Load()
}
