package quota

import "time"

// Throttle is what a client is told after a charge: how long it should wait.
// The zero Throttle is no wait. It is a plain value; Client.Mute makes the wait
// of one connection of it. Four words are what the compiler keeps in registers.
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

// Mute announces a throttle of the client's and begins the mute of its
// connection, counted as muted until Done. It is nil for a Throttle that does not
// mute.
func (c *Client) Mute(t Throttle) *Mute {
	if !t.Muted() {
		return nil
	}
	t.bucket.announce(t)
	return c.mute(t)
}

func (c *Client) mute(t Throttle) *Mute {
	m := &Mute{client: c, bucket: t.bucket, limit: t.limit, owed: t.owed, until: t.at + t.wait(), changed: make(chan struct{}, 1)}
	m.bucket.muted.Add(1)
	m.bucket.meter.mutes.add(m)
	return m
}

// Mute is a throttle in force on one connection. Its methods are for that
// connection's goroutine alone.
type Mute struct {
	client  *Client
	bucket  *bucket
	limit   *limit        // the last one that Remaining has seen
	owed    int64         // ticks: when the debt of the request is paid under limit
	until   int64         // ticks: when the mute ends, never later than promised
	changed chan struct{} // holds something once a change may have shortened it
	index   int           // in mutes.all, guarded by its mu
	done    bool
}

// Remaining is how long the mute lasts from now on. A limit that was raised
// or removed since makes it shorter, one that was lowered does not make it longer.
// A client that pays from another bucket now owes nothing here: the next request is
// judged there.
func (m *Mute) Remaining(now time.Time) time.Duration {
	at := m.client.clock.ticks(now)
	for next := m.limit.next.Load(); next != nil; next = m.limit.next.Load() {
		m.follow(next)
	}
	if m.until-at > 0 && m.client.bucket(m.bucket.meter.kind) != m.bucket {
		m.until = at
	}
	return time.Duration((m.until - at + tick - 1) >> tickShift)
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

// Changed gives something when Remaining is to be asked again: a change of
// settings names the client.
func (m *Mute) Changed() <-chan struct{} { return m.changed }

func (m *Mute) wake() {
	select {
	case m.changed <- struct{}{}:
	default: // it has not looked since the last time
	}
}

// Done ends the mute: the connection is read again, or gone.
func (m *Mute) Done() {
	if m.done {
		return
	}
	m.done = true
	b := m.bucket
	tail := b.line.tail.Load()
	if b.muted.Add(-1) == 0 {
		b.line.end(tail, m.until)
	}
	b.meter.mutes.remove(m)
}
