package server

import "runtime"

// turns are taken by goroutines that all have the same work at the same moment,
// such as five hundred handshakes or ten thousand connections whose peers went
// together: while one has its turn the others wait outside the scheduler's queue,
// where requests would stand behind all of them.
type turns chan struct{}

// newTurns leaves half of the processors to requests.
func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

func (t turns) take() { t <- struct{}{} }
func (t turns) pass() { <-t }
