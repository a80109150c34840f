package segment

import (
	"slices"
	"sync"
	"sync/atomic"

	"kaasd/internal/storage"
)

// waits are the parked fetches of one log.
type waits struct {
	n  atomic.Int32 // so that an append need not take mu to find none
	mu sync.Mutex
	by []*storage.Waiter
}

// Watch registers w. from is the high watermark that the caller has seen: if
// the log went on since, w wakes at once.
func (l *Log) Watch(w *storage.Waiter, from int64) (stop func()) {
	l.waits.add(w)
	if l.hw.Load() > from || l.start.Load() > from || l.failed.Load() != nil {
		w.Wake()
	}
	return func() { l.waits.remove(w) }
}

func (s *waits) add(w *storage.Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by = append(s.by, w)
	s.n.Add(1)
}

func (s *waits) remove(w *storage.Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.by, w); i >= 0 {
		s.by = slices.Delete(s.by, i, i+1)
		s.n.Add(-1)
	}
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
