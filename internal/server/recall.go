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
	old          time.Time         // who waits since before has waited for long
	seat         bool              // the seat was recalled
	poorest      int64             // the least that an owner who waits for memory will hold with it
	unfair, aged int64             // bytes that were recalled
	from         map[*holder]int64 // the same, by owner: they hold them until they go on
}

func (m *memory) recall(now time.Time) *recall {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &recall{memory: m, old: now.Add(-recallAfter), poorest: m.poorest(), from: map[*holder]int64{}}
}

// poorest is the least that an owner who waits will hold with what it waits for.
func (m *memory) poorest() int64 {
	least := m.limit
	for _, h := range m.holders {
		if len(h.waiting) > 0 {
			least = min(least, h.held+h.waiting[0].need)
		}
	}
	return least
}

// wants says whether a request's wait is to end. That of who holds the seat always is:
// the seat is for those who go on.
func (r *recall) wants(p *pause) bool {
	seated, held := r.memory.standing(p)
	switch {
	case seated && !r.seat:
		r.seat = true
	case r.unfair < recallUnfair && held-r.from[p.holder]-p.holds >= r.poorest:
		r.unfair += p.holds
	case r.aged < recallOld && p.since.Before(r.old):
		r.aged += p.holds
	default:
		return false
	}
	r.from[p.holder] += p.holds
	return true
}

// standing is whether a request that waits has the seat, and how much its owner holds.
func (m *memory) standing(p *pause) (seated bool, held int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seat == p.loan, p.holder.held
}
