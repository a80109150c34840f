package quota

import (
	"sync"
	"sync/atomic"
	"time"
)

// meter is what the buckets of one kind have in common: the clock, and the
// counts over all of them.
type meter struct {
	kind  Kind
	clock clock
	waits waits
	mutes mutes
	fresh atomic.Int64 // buckets throttled for the first time, not looked at since

	limits atomic.Uint64 // that there were, for their numbers

	folding sync.Mutex // of the buckets' tallies

	// moved is what was counted under each level and is not the buckets' to
	// tell any more: they are gone, or under another level. Guarded by the
	// Enforcer's mu.
	moved   [maxLevels]totals
	buckets int // there are, guarded by the same

	_         [64]byte
	unlimited atomic.Int64 // charges without a limit
	_         [64]byte
}

func newMeter(k Kind, c clock) *meter { return &meter{kind: k, clock: c} }

// free counts a charge that no quota judges.
func (m *meter) free(n int) Throttle {
	if n > 0 {
		m.unlimited.Add(1)
	}
	return Throttle{}
}

// waitBounds are the upper bounds of the histogram of throttles.
var waitBounds = [...]time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// waits is a histogram of the throttles announced.
type waits struct {
	counts [len(waitBounds) + 1]atomic.Int64 // the last one is above all bounds
	nanos  atomic.Int64
}

func (w *waits) observe(nanos int64) {
	i := 0
	for i < len(waitBounds) && nanos > int64(waitBounds[i]) {
		i++
	}
	w.counts[i].Add(1)
	w.nanos.Add(nanos)
}

// totals are the counts of a bucket, or of several.
type totals struct {
	units, checks, denied, throttled, nanos int64
}

func (b *bucket) totals() totals {
	t := totals{denied: b.denied.Load(), throttled: b.throttled.Load(), nanos: b.throttleNanos.Load()}
	t.checks, t.units = b.counted() // after denied: never fewer
	return t
}

func (t totals) plus(o totals) totals {
	return totals{t.units + o.units, t.checks + o.checks, t.denied + o.denied, t.throttled + o.throttled, t.nanos + o.nanos}
}

func (t totals) minus(o totals) totals {
	return totals{t.units - o.units, t.checks - o.checks, t.denied - o.denied, t.throttled - o.throttled, t.nanos - o.nanos}
}
