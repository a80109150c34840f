package server

import (
	"sync/atomic"
	"time"
)

// How connections are put away. Go asks the network who has sent something when a
// processor has nothing else to do, else every 10 ms: where thousands end at once there
// are rests, in which others are heard.
const (
	closingTurn = 16 // connections from one rest to the next, 25 us each or more
	closingRest = time.Millisecond
	closingView = 256 // connections after which it is seen whether others come
)

// closings are the turns in which connections that have ended are put away.
type closings struct {
	Turns
	left atomic.Uint64 // connections that were put away
	came atomic.Uint64 // that had been accepted, at the last view
	calm atomic.Bool   // there were few of those since the view before
}

// rest comes after a connection was put away, so many having been accepted until now.
// There is none while others come about as fast: those who leave would be more and more.
func (c *closings) rest(accepted uint64) {
	left := c.left.Add(1)
	if left%closingView == 0 {
		c.calm.Store(accepted-c.came.Swap(accepted) < closingView/4)
	}
	if left%closingTurn == 0 && c.calm.Load() {
		time.Sleep(closingRest)
	}
}
