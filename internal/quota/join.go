package quota

import "time"

// maxJoin is how many new connections may join one debt.
const maxJoin = 16

// Join is asked before the first request of a new connection is read. It is
// charged like any other, at once and even into debt, so that a client could
// come back for every request and never be held. So only some new connections
// may join a debt; the next ones are muted first, for as long as it lasts when
// they come, and served then. The rate holds, and nobody waits for ever. Nil
// means no mute; nothing is charged or announced.
func (c *Client) Join(k Kind, now time.Time) *Mute {
	b := c.bucket(k)
	if b == nil {
		return nil
	}
	return b.join(c.enforcer.clock.ticks(now)).Of(c)
}

func (b *bucket) join(now int64) *Mute {
	lim, zero := b.limit.Load(), b.word.Load()
	if lim.isUnlimited() || zero-now < msTicks {
		b.joined.Store(0)
		return nil
	}
	if b.joined.Add(1) <= maxJoin {
		return nil
	}
	return Throttle{bucket: b, limit: lim, owed: zero, at: now}.mute()
}
