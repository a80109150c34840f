package server

import (
	"context"
	"runtime"
)

// Turns are taken by goroutines that all have much of the same work at the same moment,
// such as five hundred handshakes, or ten thousand connections whose peers went
// together: while some have theirs the others wait outside the scheduler's queue,
// where requests would stand behind all of them.
type Turns chan struct{}

// NewTurns leaves half of the processors to requests.
func NewTurns() Turns { return make(Turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// Take waits for a turn.
func (t Turns) Take() { t <- struct{}{} }

// TakeBefore waits for a turn, or for the end of the context: then there is none, and
// the error is its cause.
func (t Turns) TakeBefore(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Pass ends a turn.
func (t Turns) Pass() { <-t }
