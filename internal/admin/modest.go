package admin

import (
	"errors"
	"net"
	"runtime"
	"sync/atomic"
)

// modestBytes is above what a client has to send before something is answered: its
// part of a handshake with a chain of certificates, or a request's headers.
const modestBytes = 64 << 10

var errImmodest = errors.New("more bytes than any request to these pages has")

// modest is a listener whose connections end when they are sent too much that
// nothing is answered to: TLS gathers messages of a handshake, before it ends and
// after, until they are whole. Until their first request they calculate in turns,
// which leave half of the processors to others.
type modest struct {
	net.Listener
	turns chan struct{}
}

func newModest(l net.Listener) modest {
	return modest{l, make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// Accept waits for a connection.
func (m modest) Accept() (net.Conn, error) {
	nc, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &modestConn{Conn: nc, turns: m.turns}, nil
}

// modestConn counts what has come since something was last written. A turn begins
// when something has come, and ends when more is wanted or an answer is there: nobody
// waits for a peer in it, so it is over soon.
type modestConn struct {
	net.Conn
	unanswered atomic.Int64

	turns  chan struct{}
	turn   atomic.Bool // it has one
	past   atomic.Bool // there is a request: the handshake is over
	closed atomic.Bool
}

func (c *modestConn) Read(p []byte) (int, error) {
	c.rest()
	if c.unanswered.Load() >= modestBytes {
		return 0, errImmodest
	}
	n, err := c.Conn.Read(p)
	c.unanswered.Add(int64(n))
	if n > 0 && !c.past.Load() {
		c.turns <- struct{}{}
		c.turn.Store(true)
		if c.closed.Load() { // while it waited, and nobody will call again
			c.rest()
		}
	}
	return n, err
}

func (c *modestConn) Write(p []byte) (int, error) {
	c.rest()
	c.unanswered.Store(0)
	return c.Conn.Write(p)
}

// Close ends the connection, and its turn.
func (c *modestConn) Close() error {
	c.closed.Store(true)
	c.rest()
	return c.Conn.Close()
}

// greeted is called at each request: from the first on nothing takes turns.
func (c *modestConn) greeted() {
	c.past.Store(true)
	c.rest()
}

// rest gives the turn back, if there is one.
func (c *modestConn) rest() {
	if c.turn.CompareAndSwap(true, false) {
		<-c.turns
	}
}
