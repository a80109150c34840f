package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// yieldEvery is how often a waiting acceptor looks for a handshake that has to give
// up its seat, besides at once.
const yieldEvery = 25 * time.Millisecond

// handshakeRecord is the first byte of a client that begins TLS, RFC 8446
// section 5.1.
const handshakeRecord = 0x16

var errShaking = errors.New("the handshake was not finished within the time")

// badHandshake is what went wrong with a handshake.
type badHandshake struct {
	cause   error
	foreign bool // the peer does not speak TLS
}

func (e *badHandshake) Error() string { return e.cause.Error() }
func (e *badHandshake) Unwrap() error { return e.cause }

// seats are the handshakes that may go on at a time.
type seats chan struct{}

func (s seats) leave() { <-s }

// takeSeat waits for a seat and says whether the server still runs. While there
// is none, a handshake that is slow gives up its own.
func (s *Server) takeSeat() bool {
	select {
	case s.seats <- struct{}{}:
		return true
	default:
	}
	ticker := time.NewTicker(yieldEvery)
	defer ticker.Stop()
	for {
		s.yield()
		select {
		case s.seats <- struct{}{}:
			return true
		case <-ticker.C:
		case <-s.stopping:
			return false
		}
	}
}

// yield ends the handshake that has to give up its seat, if there is one.
func (s *Server) yield() {
	if c, why := s.crowd.pick(time.Now()); c != nil {
		c.abort(&badHandshake{cause: why})
	}
}

// encrypt puts TLS over the socket.
func (c *conn) encrypt(config *tls.Config) {
	c.wire = &wire{Conn: c.socket, conn: c, left: handshakeBytes(config), turns: c.server.shaking}
	c.wire.peer.left = helloTime
	c.config = config
	c.nc = tls.Server(c.wire, config)
}

// handshake makes the connection one of TLS and tells what it found out. The
// seat for it is given back.
func (c *conn) handshake(met *Conn) error {
	secret := c.nc.(*tls.Conn)
	err := c.shake(secret)
	if err != nil {
		return c.handshakeFailed(err)
	}
	c.door.metrics.shaken[true].Inc()
	state := secret.ConnectionState()
	met.TLS = &state
	if !met.Listener.Pinned && holds(c.config, state.ServerName) {
		met.Listener.Host = state.ServerName
	}
	c.config = nil
	return nil
}

// shake is the handshake, within the time to log in.
func (c *conn) shake(secret *tls.Conn) error {
	defer c.server.seats.leave()
	c.server.crowd.enter(c)
	defer c.server.crowd.leave(c)
	defer c.wire.calculated()
	c.wire.peer.run()
	c.due = c.accepted.Add(c.server.options.LoginTimeout)
	c.arm()
	err := secret.Handshake()
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case c.stopping():
		return errStopping
	}
	return errShaking
}

// calculated ends the part of a connection that takes turns.
func (w *wire) calculated() {
	w.passTurn()
	w.turns = nil
}

// handshakeFailed counts and names a handshake that failed.
func (c *conn) handshakeFailed(err error) error {
	left := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
	if errors.Is(err, errStopping) || left && !c.wire.heard {
		return err
	}
	c.door.metrics.shaken[false].Inc()
	var strange tls.RecordHeaderError
	switch {
	case errors.As(err, &strange):
		return &badHandshake{fmt.Errorf("%s: %w", spoken(strange.RecordHeader), err), strange.RecordHeader[0] != handshakeRecord}
	case left:
		err = errors.New("the peer went away in the middle of it")
	case !errors.Is(err, errShaking) && c.context.Err() == nil:
		c.sayGoodbye() // so that a reset does not overtake the alert
	}
	return &badHandshake{cause: err}
}

// spoken names what a peer speaks instead of TLS, by its first bytes.
func spoken(head [5]byte) string {
	if head[0] == handshakeRecord {
		return "a record that is none of TLS"
	}
	if what := foreign([sizeBytes]byte(head[:])); what != "" {
		return what
	}
	if head[0] == 0 {
		return "a client without TLS on a port with TLS (security.protocol of the client)"
	}
	return "something else than TLS"
}

// holds says whether one of the certificates is for the name.
func holds(config *tls.Config, name string) bool {
	if name == "" {
		return false
	}
	for _, c := range config.Certificates {
		if c.Leaf != nil && c.Leaf.VerifyHostname(name) == nil {
			return true
		}
	}
	return false
}
