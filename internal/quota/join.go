package quota

import "time"

// Join is asked before the first request of a new connection is read. It is
// charged like any other, at once and even into debt, so that a client could
// come back for every request and never be held. So what new connections bring
// into a bucket in debt is bounded by the burst and the rate: one that comes
// above that is muted until the debt is paid. Nil means that it is not; nothing
// is charged or announced.
func (c *Client) Join(k Kind, bytes int, now time.Time) *Mute {
	b := c.bucket(k)
	if b == nil {
		return nil
	}
	return b.join(bytes, c.enforcer.clock.ticks(now))
}

func (b *bucket) join(bytes int, now int64) *Mute {
	lim := b.limit.Load()
	if lim.isUnlimited() {
		return nil
	}
	above := b.bring(lim, lim.cost(bytes), now) > now
	zero := b.word.Load()
	if !above || zero-now < msTicks {
		return nil
	}
	m := Throttle{bucket: b, limit: lim, until: zero, wait: zero - now}.Mute()
	m.joining = true // those who wait with it may be served first
	return m
}

// bring moves the mark of what new connections brought along. It stays within
// one burst of now, so that a frame that only claims to be large costs the
// next ones a second.
func (b *bucket) bring(lim *limit, cost, now int64) int64 {
	for {
		old := b.fresh.Load()
		mark := min(lim.settled(old, now)+cost, now+lim.burst)
		if b.fresh.CompareAndSwap(old, mark) {
			return mark
		}
	}
}
