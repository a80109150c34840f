package quota

import "time"

// Inherit is asked before a new connection is charged for the first time. When
// a connection of the same bucket went away in the middle of its mute, the new
// one takes its place and is muted until the debt is paid: else a client could
// have its every request served at once by coming back each time. Nil means
// that nobody left a mute behind, or that the debt is paid; nothing is charged
// or announced.
func (c *Client) Inherit(k Kind, now time.Time) *Mute {
	b := c.bucket(k)
	if b == nil || b.abandoned.Load() == 0 {
		return nil
	}
	return b.inherit(c.enforcer.clock.ticks(now))
}

func (b *bucket) inherit(now int64) *Mute {
	lim := b.limit.Load()
	zero := b.word.Load()
	if lim.isUnlimited() || zero-now < msTicks {
		b.abandoned.Store(0) // what they waited for is paid
		return nil
	}
	for {
		n := b.abandoned.Load()
		if n == 0 {
			return nil
		}
		if b.abandoned.CompareAndSwap(n, n-1) {
			return Throttle{bucket: b, limit: lim, until: zero, wait: zero - now}.Mute()
		}
	}
}
