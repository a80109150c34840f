package segment

import (
	"sync"
	"sync/atomic"

	"kaasd/internal/storage"
)

// waits are the parked fetches of one log.
type waits struct {
	n  atomic.Int32 // so that an append need not take mu to find none
	mu sync.Mutex
	by []*registration
}

// registration is a waiter's place, by which it leaves in one step however many
// there are.
type registration struct {
	*storage.Waiter
	at int
}

// Watch registers w. from is the high watermark that the caller has seen: if
// the log went on since, w wakes at once.
func (l *Log) Watch(w *storage.Waiter, from int64) (stop func()) {
	r := l.waits.add(w)
	if l.hw.Load() > from || l.start.Load() > from || l.failed.Load() != nil {
		w.Wake()
	}
	return func() { l.waits.remove(r) }
}

func (s *waits) add(w *storage.Waiter) *registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &registration{w, len(s.by)}
	s.by = append(s.by, r)
	s.n.Add(1)
	return r
}

// remove puts the last in the place of one that leaves.
func (s *waits) remove(r *registration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := len(s.by) - 1
	last := s.by[end]
	s.by[r.at], last.at = last, r.at
	s.by[end] = nil
	s.by = s.by[:end]
	s.n.Add(-1)
}

// grew tells everybody of n more visible bytes.
func (s *waits) grew(n int64) {
	if s.n.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.by {
		w.Grew(n)
	}
}

func (s *waits) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.by {
		w.Wake()
	}
}
