package server

import (
	"net"
	"slices"
	"sync"
	"time"
)

// mostRefused is how many sockets stand on the porch at most, however many
// descriptors there are: each costs the kernel some KiB.
const mostRefused = 4096

// porch is where refused connections stand until their time is over: sockets
// that nobody reads. Its goroutine closes them in the order they are due.
type porch struct {
	mu      sync.Mutex
	room    int       // how many it holds
	refused []refused // the first is due first
	closed  bool
	sooner  chan struct{} // another one is due first; capacity 1
}

// refused is a connection that is not served.
type refused struct {
	socket net.Conn
	due    time.Time
}

func newPorch(room int) *porch {
	return &porch{room: room, sooner: make(chan struct{}, 1)}
}

// hold keeps a socket until it is due, or says that it has no room for it.
func (p *porch) hold(socket net.Conn, due time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.refused) >= p.room {
		return false
	}
	// Behind all that are due at the same time: mostly at the end.
	at, _ := slices.BinarySearchFunc(p.refused, due, func(r refused, due time.Time) int {
		if r.due.After(due) {
			return 1
		}
		return -1
	})
	p.refused = slices.Insert(p.refused, at, refused{socket, due})
	if at == 0 {
		select {
		case p.sooner <- struct{}{}:
		default:
		}
	}
	return true
}

// run closes what is due, and everything when stop is closed.
func (p *porch) run(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var over []refused
	for {
		select {
		case <-timer.C:
		case <-p.sooner:
		case <-stop:
			closeAll(p.close())
			return
		}
		var next time.Duration
		over, next = p.take(over[:0], time.Now())
		closeAll(over)
		clear(over)
		timer.Reset(next)
	}
}

// take appends those that are due, and says how long the others have.
func (p *porch) take(to []refused, now time.Time) (over []refused, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.refused) && !p.refused[n].due.After(now) {
		n++
	}
	to = append(to, p.refused[:n]...)
	p.refused = slices.Delete(p.refused, 0, n)
	if len(p.refused) == 0 {
		return to, time.Hour
	}
	return to, p.refused[0].due.Sub(now)
}

// close takes all, and lets no other in.
func (p *porch) close() []refused {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.refused
	p.refused, p.closed = nil, true
	return all
}

func closeAll(all []refused) {
	for _, r := range all {
		r.socket.Close()
	}
}
