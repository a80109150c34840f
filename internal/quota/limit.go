package quota

import (
	"math"
	"sync/atomic"
	"time"
)

// Time inside a bucket is counted in ticks of 1/256 ns, relative to a start,
// and compared by signed difference: the count wraps after 834 days, and no
// two moments a bucket compares are half of that apart.
const (
	tickShift = 8
	tick      = 1 << tickShift
	msTicks   = int64(time.Millisecond) << tickShift
	secTicks  = int64(time.Second) << tickShift

	// maxDebt bounds what a bucket can owe. It lies past the 24.8 days an
	// int32 of throttle_time_ms can say.
	maxDebt = 30 * 24 * 3600 * secTicks

	// maxAnnounced is what it can say. Nobody is muted for longer than told.
	maxAnnounced = math.MaxInt32 * msTicks
)

// clock turns moments into ticks.
type clock struct{ start time.Time }

func (c clock) ticks(now time.Time) int64 { return int64(now.Sub(c.start)) << tickShift }

// limit is one rate in force on a bucket. It is immutable but for its end: next
// leads to the limit that follows. Muted connections walk that chain to learn what
// became of their debt; who only wants to know a limit again keeps its number, so
// that the whole chain since need not be kept.
type limit struct {
	number  uint64  // among those of a meter, from 1 on
	rate    float64 // units per second; infinite when there is no limit
	perUnit float64 // ticks; zero when there is no limit
	burst   int64   // ticks a full bucket is worth
	longest int64   // ticks: the longest throttle that is announced
	deepest int64   // ticks: the most that is owed
	since   int64   // ticks

	next atomic.Pointer[limit]
}

func newLimit(m *meter, rate float64, r rule, since int64) *limit {
	return &limit{
		number:  m.limits.Add(1),
		rate:    rate,
		perUnit: float64(secTicks) / rate,
		burst:   int64(r.burst) << tickShift,
		longest: min(bound(r.longest), maxAnnounced),
		deepest: bound(r.deepest),
		since:   since,
	}
}

func bound(d time.Duration) int64 {
	if d == 0 {
		return maxDebt
	}
	return int64(d) << tickShift
}

var unlimited = math.Inf(1)

func (l *limit) isUnlimited() bool { return l.perUnit == 0 }

// cost is what n units are worth, rounded to the nearest tick.
func (l *limit) cost(n int) int64 {
	ticks := float64(n)*l.perUnit + 0.5
	if ticks > float64(maxDebt) {
		return maxDebt
	}
	return int64(ticks)
}

// bytes is what a span of ticks is worth, rounded down.
func (l *limit) bytes(span int64) int {
	return int(min(float64(span)/l.perUnit, 1<<53))
}

// rescale gives the moment that owes as many units at the limit to as the
// moment at owed under l.
func (l *limit) rescale(to *limit, at, now int64) int64 {
	owed := float64(at-now) * (to.perUnit / l.perUnit)
	return now + int64(max(min(owed, float64(to.deepest)), -float64(maxDebt)))
}
