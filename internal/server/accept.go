package server

import (
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"
)

// The accept loop's pause after an error, such as no free descriptor.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// refusedTurn is how many connections a door refuses for the quota between two rests, in
// which others are heard: a thousand come back at once when a second is over.
const refusedTurn = 16

// accept takes connections from a door until it is closed. Where they begin
// with a handshake, the seat for it comes first: without one, connections wait
// in the kernel's queue.
func (s *Server) accept(d *door) {
	pause, seated := firstPause, d.TLS == nil
	for {
		if !seated && !s.takeSeat() {
			return
		}
		seated = true
		nc, err := d.socket.Accept()
		switch {
		case err == nil:
			pause = firstPause
			served := s.welcome(d, nc)
			seated = d.TLS == nil || !served // the handshake gives it back
		case s.stopped.Load() != nil || errors.Is(err, net.ErrClosed):
			return
		default:
			s.note(zap.WarnLevel, "cannot accept connections", d.Name, zap.String("listener", d.Name), zap.Error(err))
			if !s.pause(pause) {
				return
			}
			pause = min(2*pause, lastPause)
		}
	}
}

// pause waits and says whether the server still runs.
func (s *Server) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stopping:
		return false
	}
}

// welcome starts serving a connection, or closes it and says no.
func (s *Server) welcome(d *door, nc net.Conn) bool {
	host := hostOf(nc.RemoteAddr())
	if !s.admit(d, nc, host) {
		return false
	}
	c := newConn(s, d, nc, host, time.Now())
	if why, err := s.enter(c); err != nil {
		c.cancel(err)
		s.rejected(d, host, why, err) // before the peer knows
		nc.Close()
		return false
	}
	d.metrics.accepted.Inc()
	d.metrics.open.Inc()
	go c.run()
	return true
}

// admit asks the admitter and waits as it says. A refused connection is held
// unread, or closed when that cannot be.
func (s *Server) admit(d *door, nc net.Conn, host string) bool {
	if s.options.Admitter == nil {
		return true
	}
	now := time.Now()
	a := s.options.Admitter.Admit(d.Name, nc.RemoteAddr(), now)
	if a.Refuse == nil {
		if a.Wait > 0 {
			s.pause(a.Wait) // a stop meanwhile is seen by enter
		}
		return true
	}
	s.rejected(d, host, byQuota, a.Refuse)
	if a.Wait <= 0 || !s.porch.hold(nc, now.Add(a.Wait)) {
		nc.Close()
	}
	if d.refused++; d.refused%refusedTurn == 0 {
		s.pause(closingRest)
	}
	return false
}

// enter adds the connection to the set when there is room for it.
func (s *Server) enter(c *conn) (rejection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped.Load() != nil:
		return byDraining, errStopping
	case len(s.conns) >= s.maxConns:
		return byLimit, fmt.Errorf("%d connections are open, as many as max.connections, memory.limit and the descriptor limit allow", s.maxConns)
	case s.byHost[c.host] >= s.options.MaxConnectionsPerIP:
		return byLimit, fmt.Errorf("%d connections from this address, as many as max.connections.per.ip allows", s.options.MaxConnectionsPerIP)
	}
	s.conns[c.id] = c
	s.byHost[c.host]++
	s.running.Add(1)
	return "", nil
}

// leave removes a connection that is gone.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.id)
	if s.byHost[c.host]--; s.byHost[c.host] <= 0 {
		delete(s.byHost, c.host)
	}
}

// rejected counts and logs a connection that is not served.
func (s *Server) rejected(d *door, host string, why rejection, err error) {
	d.metrics.rejected[why].Inc()
	if why != byDraining {
		s.note(zap.WarnLevel, "connection refused", host, zap.String("listener", d.Name), zap.String("peer", host), zap.Error(err))
	}
}

// hostOf is the address without the port: what counts and logs per peer.
func hostOf(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().String()
	}
	return a.String()
}
