package quota

import "time"

// Work takes time that the broker worked for the client.
func (c *Client) Work(d time.Duration, now time.Time) Throttle {
	return Throttle{}
}

// ExemptWork counts work that nobody is charged.
func (e *Enforcer) ExemptWork(d time.Duration) {}

// HasRequestQuotas says whether Work can throttle anybody, so that others may
// spare measuring it.
func (e *Enforcer) HasRequestQuotas() bool { return true }

// Larger is the throttle that is announced when two quotas judge a request.
func Larger(byQuota, byRequest Throttle) Throttle {
	if byQuota.wait > byRequest.wait {
		return byQuota
	}
	return byRequest
}
