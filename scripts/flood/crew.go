package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	sources  = 40 // loopback addresses that attackers come from
	patience = 2 * time.Second
)

// crew is the attackers of one attack on one target, and what they count.
type crew struct {
	*target
	connections int // to hold, where the attack holds any

	ended context.Context
	work  sync.WaitGroup
	from  atomic.Uint64

	tries  atomic.Int64 // connections that TCP made
	closed atomic.Int64 // of those, that the target ended
	rounds atomic.Int64 // requests, logins or whatever the attack does again and again
	held   atomic.Int64
	most   atomic.Int64 // of held
}

// at runs n attackers until the attack is over.
func (c *crew) at(n int, attacker func(i int)) {
	for i := range n {
		c.work.Go(func() {
			for c.ended.Err() == nil {
				attacker(i)
			}
		})
	}
}

// once runs n attackers that have one go each.
func (c *crew) once(n int, attacker func(i int)) {
	for i := range n {
		c.work.Go(func() { attacker(i) })
	}
}

// mark is a connection of an attacker.
type mark struct {
	net.Conn
	crew *crew
	over func() bool
}

// dial connects from one of the crew's addresses; nil when it could not. The
// connection ends with the attack.
func (c *crew) dial(address string) *mark {
	n := c.from.Add(1)
	d := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+n%sources))}}
	nc, err := d.DialContext(c.ended, "tcp", address)
	if err != nil {
		c.pause(10 * time.Millisecond)
		return nil
	}
	c.tries.Add(1)
	if held := c.held.Add(1); held > c.most.Load() {
		c.most.Store(held) // nearly: two may pass here at once
	}
	return &mark{Conn: nc, crew: c, over: context.AfterFunc(c.ended, func() { nc.Close() })}
}

// leave closes the connection from the attacker's side.
func (m *mark) leave() {
	m.over()
	m.Close()
	m.crew.held.Add(-1)
}

// abandon is leave with a reset, so that the port is free again at once.
func (m *mark) abandon() {
	if tcp, ok := m.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	m.leave()
}

// say writes and tells whether the target still takes it.
func (m *mark) say(b []byte) bool {
	_, err := m.Write(b)
	m.lost(err)
	return err == nil
}

// hear reads until the target ends the connection, or the attack ends.
func (m *mark) hear() {
	_, err := io.Copy(io.Discard, m.Conn)
	if err == nil {
		err = io.EOF
	}
	m.lost(err)
}

// answer takes one frame.
func (m *mark) answer() ([]byte, bool) {
	b, err := readFrame(m)
	m.lost(err)
	return b, err == nil
}

// lost counts a connection that the target has ended. It comes once for each:
// the attackers let go of a connection after an error.
func (m *mark) lost(err error) {
	if err != nil && m.crew.ended.Err() == nil && !errors.Is(err, net.ErrClosed) {
		m.crew.closed.Add(1)
	}
}

// pause waits, not beyond the end of the attack.
func (c *crew) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ended.Done():
	}
}
