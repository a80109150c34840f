package server

import "time"

// What is recalled at a look, in bytes: to go on is work for each request whose wait
// ends, and those who wait for memory may be ten thousand.
const (
	recallUnfair = 512 << 10 // from owners who hold more than somebody who waits
	recallOld    = 128 << 10 // from the others, of requests that have waited for recallAfter

	// recallAfter is above what consumers wait for records in general
	// (fetch.max.wait.ms is 500), so that those who are alone do not end each other.
	recallAfter = time.Second
)

// recall is which of the requests that wait give their memory back at a look, for those
// who wait for it.
type recall struct {
	memory       *memory
	old          time.Time // who waits since before has waited for long
	poorest      int64     // the least that an owner who waits for memory will hold with it
	unfair, aged int64     // bytes that were recalled
}

func (m *memory) recall(now time.Time) *recall {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &recall{memory: m, old: now.Add(-recallAfter)}
	if l := m.first(func(*loan) bool { return true }); l != nil {
		r.poorest = l.holder.held + l.need
	}
	return r
}

// wants says whether a request's wait is to end.
func (r *recall) wants(p *pause) bool {
	switch {
	case r.unfair < recallUnfair && r.memory.heldBy(p.holder)-r.unfair-p.holds >= r.poorest:
		r.unfair += p.holds
	case r.aged < recallOld && p.since.Before(r.old):
		r.aged += p.holds
	default:
		return false
	}
	return true
}

// heldBy is what an owner holds, which what was recalled from it is a part of until its
// requests have gone on.
func (m *memory) heldBy(h *holder) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return h.held
}
