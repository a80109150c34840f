package quota

import "time"

const (
	// farPast is how far behind a word may lie before it is brought nearer: the
	// signed difference of ticks turns over after 417 days.
	farPast = 200 * 24 * 3600 * secTicks
	// A sweep looks at so many accounts, or a part of all, at a time; at all of
	// them when the unnamed ones come near their bound.
	sweepLeast = 1000
	sweepPart  = 64
	tight      = maxUnnamed * 3 / 4
)

// sweep forgets accounts that have no setting and have been idle for
// Options.Idle: some at a time, so that nobody waits for it for long. Where room
// gets tight a full bucket is enough: forgetting it changes nothing. A client
// that still points at one finds the generation changed and asks again.
func (e *Enforcer) sweep(now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	after, n := e.options.Idle, max(sweepLeast, len(e.accounts.all)/sweepPart)
	if e.accounts.unnamed() >= tight {
		after, n = 0, len(e.accounts.all)
	}
	gone := false
	for range min(n, len(e.accounts.all)) {
		// Downwards, since the last one takes the place of one that goes.
		if e.swept--; e.swept < 0 || e.swept >= len(e.accounts.all) {
			e.swept = len(e.accounts.all) - 1
		}
		gone = e.sweepOne(e.accounts.all[e.swept], after, now) || gone
	}
	if gone {
		e.generation.Add(1)
	}
}

func (e *Enforcer) sweepOne(a *account, after time.Duration, now int64) (gone bool) {
	for _, b := range a.buckets {
		if b != nil {
			b.bringNear(now)
		}
	}
	switch {
	case !a.idle(after, now):
		return false
	case !a.series.named:
		e.forget(a)
		return true
	case shapeOf(a.owner) != ofNobody || a.buckets == [kinds]*bucket{}:
		return false
	}
	// A default paid for those for whom there was no room, and does so no more.
	e.empty(a)
	return true
}

// forget takes an account out of the table. The caller holds mu.
func (e *Enforcer) forget(a *account) {
	e.empty(a)
	e.accounts.remove(a)
}

// empty takes the buckets of an account away and keeps their counts in the sums
// over all. The caller holds mu.
func (e *Enforcer) empty(a *account) {
	e.series.leave(a)
	for k, b := range a.buckets {
		if b != nil {
			b.leaveLevel()
			e.meters[k].buckets--
		}
	}
	a.buckets = [kinds]*bucket{}
}

func (a *account) idle(after time.Duration, now int64) bool {
	for _, b := range a.buckets {
		if b != nil && (b.muted.Load() > 0 || b.idle(now) < after) {
			return false
		}
	}
	return true
}

// bringNear keeps a word comparable with now; the bucket stays full.
func (b *bucket) bringNear(now int64) {
	if word := b.word.Load(); now-word > farPast {
		b.word.CompareAndSwap(word, now-farPast/2)
	}
}
