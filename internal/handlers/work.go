package handlers

import (
	"time"

	"kaasd/internal/quota"
)

// request_percentage is charged the time that the broker works for a client:
// reading the frame, from there to the answer, encoding it and writing it. What
// is spent waiting is no work: a long poll, a mute, a commit.
//
//	read | log-in | decode, handle | encode, write
//	---------------------------->  ^  -----------> to the next request
//	                          charged and judged
//
// The throttle must be in the answer, so a request is judged before it is
// encoded. What comes after, and what a log-in has cost, is owed by the session
// and charged with its next request, or when it ends.

// work is what the call has cost until now.
func (c *call) work(now time.Time) time.Duration {
	return max(now.Sub(c.now)-c.parked-c.committing, 0) + c.request.Read
}

// chargeWork charges what the call has cost until now and what the session
// owes. Requests of a log-in have nobody to be charged to yet.
func (c *call) chargeWork() {
	if !c.h.Quotas.HasRequestQuotas() {
		return
	}
	now := time.Now()
	c.charged = c.work(now)
	switch {
	case c.login:
		c.unpaid.Add(int64(c.charged))
	case c.exempt:
		c.h.Quotas.ExemptWork(c.charged)
	default:
		owed := time.Duration(c.unpaid.Swap(0))
		c.throttle = quota.Larger(c.throttle, c.payer().Work(c.charged+owed, now))
	}
}

// oweWork has the session owe what the call has cost since it was charged.
func (c *call) oweWork(now time.Time) {
	if !c.exempt {
		c.owe(c.work(now) - c.charged)
	}
}

// owe is called from where answers are written, too.
func (s *session) owe(work time.Duration) {
	if s.h.Quotas.HasRequestQuotas() {
		s.unpaid.Add(int64(work))
	}
}

// Sent has the session owe the writing of an answer.
func (s *session) Sent(work time.Duration) { s.owe(work) }

// End charges what the session still owes.
func (s *session) End() {
	if work := s.unpaid.Load(); work > 0 && s.client != nil {
		s.client.Work(time.Duration(work), time.Now())
	}
}
