package admin

import (
	"errors"
	"net"
	"sync/atomic"
)

// modestBytes is above what a client has to send before something is answered: its
// part of a handshake with a chain of certificates, or a request's headers.
const modestBytes = 64 << 10

var errImmodest = errors.New("more bytes than any request to these pages has")

// modest is a listener whose connections end when they are sent too much that
// nothing is answered to: TLS gathers messages of a handshake, before it ends and
// after, until they are whole.
type modest struct{ net.Listener }

// Accept waits for a connection.
func (m modest) Accept() (net.Conn, error) {
	nc, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &modestConn{Conn: nc}, nil
}

// modestConn counts what has come since something was last written.
type modestConn struct {
	net.Conn
	unanswered atomic.Int64
}

func (c *modestConn) Read(p []byte) (int, error) {
	if c.unanswered.Load() >= modestBytes {
		return 0, errImmodest
	}
	n, err := c.Conn.Read(p)
	c.unanswered.Add(int64(n))
	return n, err
}

func (c *modestConn) Write(p []byte) (int, error) {
	c.unanswered.Store(0)
	return c.Conn.Write(p)
}
