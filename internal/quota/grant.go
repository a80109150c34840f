package quota

import "time"

// Grant is what a fetch may hand out, taken from the balance before it reads.
// Every Grant that is not muted is settled once.
type Grant struct {
	// Bytes is how much the fetch may hand out. The first batch is handed
	// out whole even when it is larger.
	Bytes int
	// Throttle is set when the bucket is in debt: the fetch is answered
	// empty, nothing was taken and nothing is to be settled.
	Throttle Throttle

	client *Client
	kind   Kind
	bucket *bucket // nil when there is no quota
	// reserved is what was taken, in bytes: Bytes, or what fetches are known to
	// hand out when the first batch is larger, so that those who come before
	// this one has read find the bucket in debt.
	reserved int
}

// take grants at most want bytes out of the balance.
func (b *bucket) take(t *turn, want int, now int64) Grant {
	for {
		lim := b.limit.Load()
		if lim.isUnlimited() {
			return Grant{Bytes: want, bucket: b}
		}
		word := b.word.Load()
		zero := lim.settled(word, now)
		debt := zero - now
		if t.come(lim, now) {
			// Who reads one batch after the other has something reserved at
			// any moment. That must not keep the others out for good.
			debt -= lim.cost(int(b.line.ahead.Load()))
		}
		if debt >= msTicks || t.early(lim, now) && -debt < lim.burst {
			b.count(1, 0)
			return Grant{Throttle: b.queue(t, lim, zero, now)}
		}
		g := b.grant(t, lim, want, -debt, now)
		if b.word.CompareAndSwap(word, zero+lim.cost(g.reserved)) {
			b.line.ahead.Add(int64(g.reserved - g.Bytes))
			t.due = false
			t.taken += lim.cost(g.Bytes)
			return g
		}
	}
}

// grant divides what the balance holds.
func (b *bucket) grant(t *turn, lim *limit, want int, credit, now int64) Grant {
	share := min(max(credit, 0), t.share(lim, b.waiting(), now))
	g := Grant{Bytes: min(want, lim.bytes(share)), bucket: b}
	g.reserved = g.Bytes
	if g.Bytes < want {
		g.reserved = max(g.Bytes, lim.bytes(b.line.handsOut(lim))+1)
	}
	return g
}

// Settle charges the bytes of the answer, gives back what was taken beyond
// them, or books the excess as debt. The Throttle is what the answer
// announces. Zero bytes give everything back: the fetch found nothing to read.
func (g Grant) Settle(used int, now time.Time) Throttle {
	at := g.client.enforcer.clock.ticks(now)
	if g.bucket == nil {
		return g.client.enforcer.meters[g.kind].free(used)
	}
	return g.bucket.settle(&g.client.turn, g, used, at)
}

func (b *bucket) settle(t *turn, g Grant, used int, now int64) Throttle {
	lim := b.limit.Load()
	b.count(0, used)
	if g.reserved > 0 {
		b.line.ahead.Add(int64(g.Bytes - g.reserved))
	}
	if lim.isUnlimited() {
		b.pass(now)
		return Throttle{}
	}
	zero := b.add(lim, lim.cost(used)-lim.cost(g.reserved), now)
	if used == 0 {
		return Throttle{}
	}
	b.count(1, 0)
	b.line.learn(used, g.Bytes)
	t.used += lim.cost(used)
	if zero-now >= msTicks || b.keepsOthers(t, lim, zero, now) {
		return b.queue(t, lim, zero, now)
	}
	return Throttle{}
}

// keepsOthers says whether a connection that goes on would live on what is
// promised to others: it has used its turn, and its part of what is left over
// since others came late. One that had no turn is measured by the balance.
func (b *bucket) keepsOthers(t *turn, lim *limit, zero, now int64) bool {
	waiting := b.waiting()
	if !b.line.promised(waiting, now) {
		return false
	}
	if t.over(lim, zero, 0) && zero-now > -msTicks {
		return true
	}
	return t.limit == lim.number && t.used >= t.length+max(now-zero, 0)/(waiting+1)
}

// queue gives a throttled fetch its turn. One that has not used up its turn
// yet comes back as soon as the debt is paid; the others go to the end of the
// line, so that they do not all come back in the same moment.
func (b *bucket) queue(t *turn, lim *limit, zero, now int64) Throttle {
	switch {
	case t.early(lim, now): // it keeps its turn
	case zero-now >= msTicks && !t.over(lim, zero, b.line.spare(t, lim)):
		return b.deny(lim, zero, now)
	default:
		b.line.join(t, lim, zero, b.waiting())
	}
	if t.start-now < msTicks {
		return Throttle{}
	}
	return b.deny(lim, max(zero, min(t.start, now+patience)), now)
}
