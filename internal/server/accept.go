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

// accept takes connections from a door until it is closed.
func (s *Server) accept(d *door) {
	pause := firstPause
	for {
		nc, err := d.socket.Accept()
		switch {
		case err == nil:
			pause = firstPause
			s.welcome(d, nc)
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

// welcome starts serving a connection, or closes it.
func (s *Server) welcome(d *door, nc net.Conn) {
	now := time.Now()
	host := hostOf(nc.RemoteAddr())
	if s.options.Admitter != nil {
		if err := s.options.Admitter.Admit(nc.RemoteAddr(), now); err != nil {
			s.refuse(d, nc, host, byQuota, err)
			return
		}
	}
	c := newConn(s, d, nc, host, now)
	if why, err := s.enter(c); err != nil {
		c.cancel(err)
		s.refuse(d, nc, host, why, err)
		return
	}
	d.metrics.accepted.Inc()
	d.metrics.open.Inc()
	go c.run()
}

// enter adds the connection to the set when there is room for it.
func (s *Server) enter(c *conn) (rejection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped.Load() != nil:
		return byDraining, errStopping
	case len(s.conns) >= s.maxConns:
		return byLimit, fmt.Errorf("%d connections are open, as many as max.connections and the descriptor limit allow", s.maxConns)
	case s.byHost[c.host] >= s.options.MaxConnectionsPerIP:
		return byLimit, fmt.Errorf("%d connections from this address, as many as max.connections.per.ip allows", s.options.MaxConnectionsPerIP)
	}
	s.conns[c] = struct{}{}
	s.byHost[c.host]++
	s.running.Add(1)
	return "", nil
}

// leave removes a connection that is gone.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.byHost[c.host]--; s.byHost[c.host] <= 0 {
		delete(s.byHost, c.host)
	}
}

func (s *Server) refuse(d *door, nc net.Conn, host string, why rejection, err error) {
	nc.Close()
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
