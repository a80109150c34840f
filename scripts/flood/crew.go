package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

	tries, closed, rounds atomic.Int64 // as in counts
	held                  atomic.Int64
	most                  atomic.Int64 // of held
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
	d := net.Dialer{Timeout: patience, Control: latePort, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+n%sources))}}
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

// latePort has the kernel choose the port when the socket connects: chosen with
// the address, it would have to differ from all that were used in the last minute,
// and an attack would soon spend its time on looking for one.
func latePort(_, _ string, raw syscall.RawConn) (err error) {
	broken := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
	return errors.Join(broken, err)
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

// pause waits, not beyond the end of the attack, and says whether that goes on.
func (c *crew) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ended.Done():
	}
	return c.ended.Err() == nil
}
