package quota

import "time"

// maxJoin is how many new connections may join one debt.
const maxJoin = 16

// Join is asked before the first request of a new connection is read that is
// charged at once and even into debt: a client could come back for every request
// and never be held. So only some new connections may join a debt; the next ones
// are muted first, for as long as it lasts when they come or a throttle may (a
// window for Request), and served then. The rate holds, and nobody waits for ever.
// Nil means no mute; nothing is charged or announced.
func (c *Client) Join(k Kind, now time.Time) *Mute {
	b := c.bucket(k)
	if b == nil {
		return nil
	}
	t := b.join(c.clock.ticks(now))
	if !t.Muted() {
		return nil
	}
	return c.mute(t)
}

func (b *bucket) join(now int64) Throttle {
	lim, zero := b.limit.Load(), b.word.Load()
	if lim.isUnlimited() || zero-now < msTicks {
		b.joined.Store(0)
		return Throttle{}
	}
	if b.joined.Add(1) <= maxJoin {
		return Throttle{}
	}
	return Throttle{bucket: b, limit: lim, owed: zero, at: now}
}
