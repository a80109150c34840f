package server

import (
	"slices"
	"time"
)

// lookEvery is how often the peers of connections that do not read are looked
// at: within a second means before it has passed.
const lookEvery = 750 * time.Millisecond

// Peers that have gone by the thousand are ended little by little: all at once would be
// in the way of every request.
const (
	abortTurn  = 32 // connections at a time
	abortEvery = 2 * time.Millisecond
)

// lookOut ends the connections that do not read and whose peer is gone, and hurries
// those who hold memory that others wait for, until the server stops.
func (s *Server) lookOut() {
	gone, slow, ends := time.NewTicker(lookEvery), newAlarm(), newAlarm()
	defer gone.Stop()
	defer slow.Stop()
	defer ends.Stop()
	var l lookout
	for {
		select {
		case <-gone.C:
			s.look(&l)
		case <-s.memory.wanted:
			slow.in(hurryEvery)
		case now := <-slow.C:
			slow.rang()
			s.look(&l) // who has gone needs none
			if s.hurryAll(now) {
				slow.in(hurryEvery)
			}
		case <-ends.C:
			ends.rang()
			l.endSome()
		case <-s.stopping:
			return
		}
		if len(l.gone) > 0 {
			ends.in(abortEvery)
		}
	}
}

// lookout is what the lookout has seen, and memory that it uses again.
type lookout struct {
	heard []uint64
	still []*conn
	gone  []*conn // whose end is still to come
}

// look looks once at all connections that do not read, and ends some of those whose
// peers have gone.
func (s *Server) look(l *lookout) {
	l.heard = s.hangups.heard(l.heard[:0])
	l.still = s.still(l.still[:0], l.heard)
	for _, c := range l.still {
		if !c.noticed && (c.gone.Load() || !c.watched && c.peerGone()) {
			c.noticed = true
			l.gone = append(l.gone, c)
		}
	}
	clear(l.still)
	l.endSome()
}

// endSome ends connections whose peers have gone.
func (l *lookout) endSome() {
	some := l.gone[:min(abortTurn, len(l.gone))]
	for _, c := range some {
		c.abort(errGone)
	}
	l.gone = slices.Delete(l.gone, 0, len(some))
}

// still notes whose peers were heard to go, and appends the connections that
// do not read.
func (s *Server) still(to []*conn, heard []uint64) []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range heard {
		if c := s.conns[id]; c != nil {
			c.gone.Store(true)
		}
	}
	for _, c := range s.conns {
		if c.still.Load() {
			to = append(to, c)
		}
	}
	return to
}
