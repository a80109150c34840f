package server

import (
	"context"
	"crypto/tls"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"
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

// lingerTime is how long a peer has to take its last answer and close.
const lingerTime = 500 * time.Millisecond

// mute does not read until the mute has passed.
func (c *conn) mute(m Mute) error {
	c.still.Store(true)
	defer c.still.Store(false)
	var timer *time.Timer
	for {
		changed := m.Changed() // before Remaining: a change between the two is seen
		left := m.Remaining(time.Now())
		if left <= 0 {
			return nil
		}
		if timer == nil {
			timer = time.NewTimer(left)
			defer timer.Stop()
		} else {
			timer.Reset(left)
		}
		select {
		case <-timer.C:
		case <-changed:
		case <-c.context.Done():
			return context.Cause(c.context)
		case <-c.server.stopping:
			return errStopping
		}
	}
}

// delay holds an answer back.
func (c *conn) delay(d time.Duration) error {
	c.still.Store(true)
	defer c.still.Store(false)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.context.Done():
		return context.Cause(c.context)
	case <-c.server.stopping:
		return errStopping
	}
}

// pause is the wait of a parked request.
type pause struct {
	end    context.CancelFunc
	since  time.Time
	lender *memory // the pool that the request's frame holds memory of; nil: none
	loan   *loan   // that of the frame
	holder *holder // whose it is there
	holds  int64   // bytes of it
}

// park is Request.Park for this connection.
func (c *conn) park(ctx context.Context) (context.Context, func()) {
	parked, cancel := context.WithCancel(ctx)
	p := &pause{end: cancel, since: time.Now(), lender: c.request.frame.lender()}
	if p.lender != nil {
		p.loan = &c.request.frame.loan
		p.holder, p.holds = p.loan.holder, p.loan.held
	}
	c.parked.Store(p)
	c.still.Store(true)
	if c.stopping() { // interrupt may have come before
		cancel()
	}
	return parked, func() {
		c.still.Store(false)
		c.parked.Store(nil)
		cancel()
	}
}

// unpark ends the wait of a parked request.
func (c *conn) unpark() {
	if p := c.parked.Load(); p != nil {
		p.end()
	}
}

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

// alarm is a timer that is set once until it has rung.
type alarm struct {
	*time.Timer
	set bool
}

func newAlarm() *alarm {
	a := &alarm{Timer: time.NewTimer(time.Hour)}
	a.Stop()
	return a
}

func (a *alarm) in(d time.Duration) {
	if !a.set {
		a.set = true
		a.Reset(d)
	}
}

func (a *alarm) rang() { a.set = false }

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

// peerGone looks for an end of file or a reset, also behind requests that wait
// in the socket: those of a client that has left are not served.
func (c *conn) peerGone() bool {
	n, err := c.peek()
	if n > 0 {
		return c.hungUp()
	}
	return err == nil && n == 0 || err != nil && err != unix.EAGAIN && err != unix.EINTR
}

// peek looks for one byte in the socket without taking it or waiting for it.
// A transport without a socket never has one.
func (c *conn) peek() (n int, err error) {
	if c.raw == nil {
		return 0, unix.EAGAIN
	}
	failed := c.raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err = unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	if failed != nil {
		return 0, failed
	}
	return n, err
}

// linger lets the last answer arrive when requests wait unread: closing the
// socket over them would send a reset, which may overtake the answer.
func (c *conn) linger() {
	if n, _ := c.peek(); n > 0 {
		c.sayGoodbye()
	}
}

// sayGoodbye closes our side and waits, not for long, until the peer closes its.
func (c *conn) sayGoodbye() {
	c.endTLS()
	half, ok := c.socket.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.socket.SetReadDeadline(time.Now().Add(lingerTime))
	io.Copy(io.Discard, c.socket)
}

// endTLS tells the peer that nothing follows, which an alert may have done already.
func (c *conn) endTLS() {
	if secret, ok := c.nc.(*tls.Conn); ok {
		c.wire.last.Store(true)
		_ = secret.CloseWrite()
	}
}
