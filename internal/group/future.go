package group

import "sync"

// Future is an answer that may have to wait for other members. Who gives it
// up takes nothing away from the group: a member is one until it leaves or its
// session ends, whatever becomes of a connection.
type Future[T any] struct {
	once  sync.Once
	done  chan struct{}
	value T
}

func newFuture[T any]() *Future[T] { return &Future[T]{done: make(chan struct{})} }

// Done is closed once there is an answer.
func (f *Future[T]) Done() <-chan struct{} { return f.done }

// Value is the answer. It must not be asked for before Done is closed.
func (f *Future[T]) Value() T { return f.value }

// give answers, the first time.
func (f *Future[T]) give(v T) {
	f.once.Do(func() {
		f.value = v
		close(f.done)
	})
}
