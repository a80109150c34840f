package quota

import "time"

// Mutate takes partitions that are made or deleted (KIP-599). Strict, as the
// newer versions of the APIs ask, refuses while the bucket is in debt: nothing
// is taken then, and the throttle says when the debt is paid; what is not
// refused may make a debt and has no throttle. Otherwise everything is taken
// and the throttle pays the debt.
func (c *Client) Mutate(partitions int, strict bool, now time.Time) (t Throttle, ok bool) {
	b := c.bucket(Mutation)
	switch {
	case b == nil:
		return c.enforcer.meters[Mutation].free(partitions), true
	case strict:
		return b.takeUnlessIndebted(partitions, c.clock.ticks(now))
	}
	return b.charge(partitions, c.clock.ticks(now)), true
}

// leastDebt is a debt that is not an error of rounding.
const leastDebt = msTicks / 1000

// takeUnlessIndebted takes n units, into debt if need be, unless there is one.
func (b *bucket) takeUnlessIndebted(n int, now int64) (Throttle, bool) {
	for {
		lim, old := b.limit.Load(), b.word.Load()
		if lim.isUnlimited() {
			b.count(0, n)
			b.pass(now)
			return Throttle{}, true
		}
		zero := lim.settled(old, now)
		if zero-now >= leastDebt {
			b.count(1, 0)
			return b.deny(lim, zero, now), false
		}
		if b.word.CompareAndSwap(old, min(zero+lim.cost(n), now+lim.deepest)) {
			b.count(1, n)
			return Throttle{}, true
		}
	}
}
