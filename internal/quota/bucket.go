package quota

import (
	"sync/atomic"
	"time"
)

// bucket is the balance of one owner of one kind, with its counters. It
// fills two cache lines, so that neighbours do not disturb each other.
type bucket struct {
	// word is the moment, in ticks, at which the balance is zero: below now
	// it is credit, never more than the burst; above now it is debt. While
	// there is no limit it is the moment of the last charge.
	word  atomic.Int64
	limit atomic.Pointer[limit]

	tally tally

	// What follows is touched only when a request is throttled. A decision is
	// counted by each quota that makes it; an announcement only by the one
	// whose throttle the client is told.
	denied        atomic.Int64 // decisions
	throttled     atomic.Int64 // announcements
	throttleNanos atomic.Int64 // announced, in all
	throttledAt   atomic.Int64 // ticks
	lastMillis    atomic.Int32 // announced last
	muted         atomic.Int32 // connections, now
	joined        atomic.Int32 // new connections since the bucket was last out of debt

	// level is the last one that set a limit here, named that there was one:
	// from then on the bucket is accounted for, until it is forgotten. Both
	// are guarded by the Enforcer's mu, as is book.
	level int8
	named bool

	line  line   // of the fetches that wait
	meter *meter // shared by the buckets of a kind
	book  *book  // nil: empty
}

func newBucket(m *meter, r rule, now int64) *bucket {
	b := &bucket{meter: m, level: noLevel}
	b.word.Store(now)
	b.limit.Store(newLimit(m, unlimited, r, now))
	return b
}

// charge takes n units, whatever the balance, and says how long the charged
// request has to wait until the balance is back at zero.
func (b *bucket) charge(n int, now int64) Throttle {
	lim := b.limit.Load()
	if lim.isUnlimited() {
		b.count(0, n)
		b.pass(now)
		return Throttle{}
	}
	zero := b.add(lim, lim.cost(n), now)
	b.count(1, n)
	if zero-now < msTicks {
		return Throttle{}
	}
	return b.deny(lim, zero, now)
}

// leastDebt is the least debt, in ticks, that is not an error of rounding.
const leastDebt = msTicks / 1000

// takeUnless takes n units, unless the bucket owes least ticks or more, or would
// with some of them; then it takes none and the Throttle says until when it would.
func (b *bucket) takeUnless(least int64, some, n int, now int64) (t Throttle, ok bool) {
	for {
		lim, old := b.limit.Load(), b.word.Load()
		if lim.isUnlimited() {
			b.count(0, n)
			b.pass(now)
			return Throttle{}, true
		}
		zero := lim.settled(old, now)
		if owed := zero + lim.cost(some); owed-now >= least {
			b.count(1, 0)
			return b.deny(lim, owed, now), false
		}
		if b.word.CompareAndSwap(old, min(zero+lim.cost(n), now+lim.deepest)) {
			b.count(1, n)
			return Throttle{}, true
		}
	}
}

// add moves the moment of zero by cost and gives the new one.
func (b *bucket) add(lim *limit, cost, now int64) int64 {
	for {
		old := b.word.Load()
		zero := lim.settled(old, now) + cost
		if zero-now > lim.deepest {
			zero = now + lim.deepest
		}
		if b.word.CompareAndSwap(old, zero) {
			return zero
		}
	}
}

// settled is the word with what overflowed a full bucket taken off.
func (l *limit) settled(word, now int64) int64 {
	if full := now - l.burst; word-full < 0 {
		return full
	}
	return word
}

// pass remembers when a bucket without a limit was used. A limit that is set
// in the same moment has its own idea of the word and wins.
func (b *bucket) pass(now int64) {
	b.meter.unlimited.Add(1)
	if old := b.word.Load(); b.limit.Load().isUnlimited() && now-old > 0 {
		b.word.CompareAndSwap(old, now)
	}
}

// waiting is how many connections are muted.
func (b *bucket) waiting() int64 { return int64(b.muted.Load()) }

// deny makes the throttle of a request that owes until the moment owed, and
// counts the decision.
func (b *bucket) deny(lim *limit, owed, now int64) Throttle {
	b.denied.Add(1)
	return Throttle{bucket: b, limit: lim, owed: owed, at: now}
}

// announce counts a throttle that a client is told.
func (b *bucket) announce(t Throttle) {
	nanos := t.wait() >> tickShift
	if b.throttled.Add(1) == 1 {
		b.meter.fresh.Add(1)
	}
	b.throttleNanos.Add(nanos)
	b.lastMillis.Store(t.Millis())
	b.throttledAt.Store(t.at)
	b.meter.waits.observe(nanos)
}

// setLimit puts another rate in force. The units owed, or in credit, stay
// the same; a bucket that had no limit starts full; without a limit nothing is
// owed. Callers take turns. A charge that runs beside it may be costed at the
// old rate: one per core at most.
func (b *bucket) setLimit(rate float64, r rule, now int64) {
	old := b.limit.Load()
	if old.rate == rate {
		return
	}
	lim := newLimit(b.meter, rate, r, now)
	b.named = true
	b.limit.Store(lim)
	for {
		word := b.word.Load()
		if b.word.CompareAndSwap(word, old.carry(lim, word, now)) {
			break
		}
	}
	b.line.carry(old, lim, now)
	old.next.Store(lim)
}

// carry is the word under the limit to, when it was word under l.
func (l *limit) carry(to *limit, word, now int64) int64 {
	switch {
	case to.isUnlimited():
		return now
	case l.isUnlimited():
		return now - to.burst
	}
	return l.rescale(to, l.settled(word, now), now)
}

// debt is what the bucket owes, in units.
func (b *bucket) debt(now int64) float64 {
	lim := b.limit.Load()
	owed := b.word.Load() - now
	if lim.isUnlimited() || owed <= 0 {
		return 0
	}
	return float64(owed) / lim.perUnit
}

// idle is how long the bucket has been full, or without a charge when it has
// no limit.
func (b *bucket) idle(now int64) time.Duration {
	span := now - b.word.Load()
	if lim := b.limit.Load(); !lim.isUnlimited() {
		span -= lim.burst
	}
	return time.Duration(span >> tickShift)
}
