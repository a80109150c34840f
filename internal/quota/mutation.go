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
		return b.takeUnless(leastDebt, 0, partitions, c.clock.ticks(now))
	}
	return b.charge(partitions, c.clock.ticks(now)), true
}
