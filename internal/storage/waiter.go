package storage

import "sync/atomic"

// Waiter is one parked fetch. It is registered with the log of each of its
// partitions; logs report what becomes visible, and the waiter wakes once
// the bytes it misses are there, or when something happens that must be
// answered at once.
type Waiter struct {
	missing atomic.Int64
	wake    chan struct{}
}

// NewWaiter makes a waiter that wakes after missing more bytes.
func NewWaiter(missing int64) *Waiter {
	w := &Waiter{wake: make(chan struct{}, 1)}
	w.missing.Store(missing)
	return w
}

// Grew tells the waiter of n more visible bytes.
func (w *Waiter) Grew(n int64) {
	if w.missing.Add(-n) <= 0 {
		w.Wake()
	}
}

// Wake ends the wait whatever is missing: the topic is deleted, the log
// was cut, an answer in the past is due.
func (w *Waiter) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// C receives once when the wait is over.
func (w *Waiter) C() <-chan struct{} { return w.wake }
