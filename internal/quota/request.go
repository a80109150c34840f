package quota

import "time"

// percent is a percent of one thread, in nanoseconds of work a second.
const percent = 1e7

// maxWork is the longest span that is charged at once.
const maxWork = time.Hour

// Work takes time that the broker worked for the client (KIP-124). No throttle
// is longer than a window, quota.window.size.seconds; what it does not repay is
// owed on, up to quota.window.num windows.
func (c *Client) Work(d time.Duration, now time.Time) Throttle {
	return c.Charge(Request, int(min(max(d, 0), maxWork)), now)
}

// ExemptWork counts work that nobody is charged.
func (e *Enforcer) ExemptWork(d time.Duration) { e.exempt.Add(int64(d)) }

// HasRequestQuotas says whether there is a quota that Work can exceed, so that
// others may spare measuring it.
func (e *Enforcer) HasRequestQuotas() bool { return e.working.Load() }
