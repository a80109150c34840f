package quota

import "time"

// Throttle is what a client is told after a charge: how long it should wait.
// The zero Throttle is no wait. It is a plain value; Mute makes the wait of
// one connection of it. Four words are what the compiler keeps in registers.
type Throttle struct {
	bucket *bucket
	limit  *limit // in force when it was decided
	owed   int64  // ticks: when the debt of the request is paid
	at     int64  // ticks: of the charge
}

// wait is what is announced, in ticks from the charge on.
func (t Throttle) wait() int64 {
	if t.limit == nil {
		return 0
	}
	return min(t.owed-t.at, t.limit.longest)
}

// Millis is the value for throttle_time_ms: rounded up.
func (t Throttle) Millis() int32 { return int32((t.wait() + msTicks - 1) / msTicks) }

// Muted says whether the connection is to be muted. Below a millisecond
// nothing is announced and the debt stays for the next charge.
func (t Throttle) Muted() bool { return t.bucket != nil }

// Larger is the throttle that a request is told which two quotas judge: that
// of the work when they are equal. The other one remains a debt.
func Larger(byQuota, byRequest Throttle) Throttle {
	if byQuota.wait() > byRequest.wait() {
		return byQuota
	}
	return byRequest
}

// Mute announces the throttle and begins the mute of one connection, counted
// as muted until Done. It is nil for a Throttle that does not mute.
func (t Throttle) Mute() *Mute {
	if !t.Muted() {
		return nil
	}
	t.bucket.announce(t)
	return t.mute()
}

func (t Throttle) mute() *Mute {
	t.bucket.muted.Add(1)
	t.bucket.meter.muted.Add(1)
	return &Mute{throttle: t, limit: t.limit, owed: t.owed, until: t.at + t.wait()}
}

// Mute is a throttle in force on one connection. Its methods are for that
// connection's goroutine alone.
type Mute struct {
	throttle Throttle
	client   *Client // nil: nobody's
	limit    *limit  // the last one that Remaining has seen
	owed     int64   // ticks: when the debt of the request is paid under limit
	until    int64   // ticks: when the mute ends, never later than promised
	done     bool
}

// Remaining is how long the mute lasts from now on. A limit that was raised
// or removed since makes it shorter, and so does one at another level that takes
// the client to another bucket; one that was lowered does not make it longer.
func (m *Mute) Remaining(now time.Time) time.Duration {
	for next := m.limit.next.Load(); next != nil; next = m.limit.next.Load() {
		m.follow(next)
	}
	left := m.until - m.throttle.bucket.meter.clock.ticks(now)
	if left > 0 && m.moved() {
		return 0
	}
	return time.Duration((left + tick - 1) >> tickShift)
}

func (m *Mute) follow(next *limit) {
	if !m.limit.isUnlimited() && m.owed-next.since > 0 {
		m.owed = m.limit.rescale(next, m.owed, next.since)
	}
	if m.owed-m.until < 0 {
		m.until = m.owed
	}
	m.limit = next
}

// Of has the mute end when a change of settings has the client pay from another
// bucket: whose debt it was is not the client's any more. A nil Mute stays nil.
func (m *Mute) Of(c *Client) *Mute {
	if m != nil {
		m.client = c
	}
	return m
}

// moved says whether the client pays elsewhere now.
func (m *Mute) moved() bool {
	b := m.throttle.bucket
	return m.client != nil && m.client.bucket(b.meter.kind) != b
}

// Changed is closed when Remaining is to be asked again: the limit that it
// last saw was replaced, or the client may pay elsewhere.
func (m *Mute) Changed() <-chan struct{} { return *m.limit.changed.Load() }

// Done ends the mute: the connection is read again, or gone.
func (m *Mute) Done() {
	if m.done {
		return
	}
	m.done = true
	b := m.throttle.bucket
	tail := b.line.tail.Load()
	if b.muted.Add(-1) == 0 {
		b.line.end(tail, m.until)
	}
	b.meter.muted.Add(-1)
}
