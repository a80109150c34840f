package quota

import "time"

// farPast is how far behind a word may lie before it is brought nearer: the
// signed difference of ticks turns over after 417 days.
const farPast = 200 * 24 * 3600 * secTicks

// sweep forgets the accounts of a shard that have no setting and have been
// idle for Options.Idle. A client that still points at one finds the
// generation changed and asks again.
func (e *Enforcer) sweep(s *shard, now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := false
	for owner, a := range s.owners {
		for k := range a.buckets {
			a.buckets[k].bringNear(now)
		}
		if a.series.named || !a.idle(e.options.Idle, now) {
			continue
		}
		delete(s.owners, owner)
		e.forget(a)
		gone = true
	}
	if gone {
		e.generation.Add(1)
	}
}

// forget keeps the counts of an account in the sums over all. The caller
// holds mu.
func (e *Enforcer) forget(a *account) {
	e.series.leave(a)
	for k, t := range a.totals() {
		e.meters[k].retired = e.meters[k].retired.plus(t)
	}
}

func (a *account) idle(after time.Duration, now int64) bool {
	for k := range a.buckets {
		b := &a.buckets[k]
		if b.muted.Load() > 0 || b.idle(now) < after {
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
