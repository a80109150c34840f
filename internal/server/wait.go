package server

import (
	"context"
	"crypto/tls"
	"io"
	"time"

	"golang.org/x/sys/unix"
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

// pause is the wait of a parked request, with what its frame held when it began: by the
// time somebody looks, the frame may be another's.
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
