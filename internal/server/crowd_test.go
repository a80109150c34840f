package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// hailing is a connection from an address.
type hailing struct {
	net.Conn
	from netip.Addr
}

func (h *hailing) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(h.from, 1234))
}

// pipeFrom connects a client of the address inside a bubble, once it is accepted.
func (r *rig) pipeFrom(from netip.Addr) *client {
	r.t.Helper()
	near, far := net.Pipe()
	r.t.Cleanup(func() { near.Close() })
	r.doors[0].socket.(*pipes).conns <- &hailing{far, from}
	return &client{near, r.t}
}

var (
	crowdAddr = netip.MustParseAddr("192.0.2.1")
	otherAddr = netip.MustParseAddr("192.0.2.2")
)

// distant is a connection over which every byte comes later by a round trip: what
// the other side does in between is a pipe's, which takes no time.
type distant struct {
	net.Conn
	trip time.Duration
	late bool // bytes of this flight have been waited for
}

func (d *distant) Read(p []byte) (int, error) {
	if !d.late {
		time.Sleep(d.trip)
		d.late = true
	}
	return d.Conn.Read(p)
}

func (d *distant) Write(p []byte) (int, error) {
	d.late = false
	return d.Conn.Write(p)
}

// TestCrowdGivesWay: 2,000 connections of one address on which nothing more comes
// do not hold up the next client of another four times 3 s, and cost those of other
// addresses that are slow nothing.
func TestCrowdGivesWay(t *testing.T) {
	const flood = 2000
	o, config := secret(t)
	says := func(what string) func(net.Conn) {
		return func(c net.Conn) { c.Write([]byte(what)) }
	}
	tests := map[string]struct {
		begin func(net.Conn)
		most  time.Duration // 512 at a time
	}{
		"silent":               {func(net.Conn) {}, time.Second},
		"half a hello":         {says("\x16\x03\x01\x01\x00\x01"), time.Second},
		"a hello, and no more": {func(c net.Conn) { tls.Client(&hasty{c}, config).Handshake() }, 6 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
				slow := make([]*client, 20)
				for i := range slow {
					slow[i] = r.pipeFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
				}
				var peers sync.WaitGroup
				defer peers.Wait()
				for range flood {
					peers.Go(func() { test.begin(r.pipeFrom(crowdAddr)) })
				}
				synctest.Wait()
				began := time.Now()
				for _, s := range slow {
					peers.Go(func() {
						time.Sleep(hurried / 2)
						s = s.encrypted(config)
						s.send(framed([]byte("b")))
						s.receive()
					})
				}
				c := r.pipeFrom(otherAddr).encrypted(config)
				c.send(framed([]byte("a")))
				c.receive()
				if took := time.Since(began); took > test.most {
					t.Errorf("answered after %v, want %v at the most", took, test.most)
				}
			})
		})
	}
}

// TestCrowdOfHonestClients: clients behind one address that all come back at once
// from far away get through, however slow the line makes them.
func TestCrowdOfHonestClients(t *testing.T) {
	const clients, trip = 1200, 300 * time.Millisecond
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			o, config := secret(t)
			config.MaxVersion = version
			bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
				var failed atomic.Int32
				var peers sync.WaitGroup
				for range clients {
					peers.Go(func() {
						far := &distant{Conn: r.pipeFrom(crowdAddr), trip: trip}
						if tls.Client(far, config).Handshake() != nil {
							failed.Add(1)
						}
					})
				}
				peers.Wait()
				synctest.Wait()
				if n := r.value("kaasd_tls_handshakes_total", "SSL", "failure"); n > 0 || failed.Load() > 0 {
					t.Errorf("%v of %d handshakes failed here and %d there", n, clients, failed.Load())
				}
			})
		})
	}
}

// TestDribblesGainNoTime: a byte now and then is not progress.
func TestDribblesGainNoTime(t *testing.T) {
	o, _ := secret(t)
	o.Handshakes = 2
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		began := time.Now()
		var peers sync.WaitGroup
		for range 2 {
			c := r.pipeFrom(crowdAddr)
			c.send([]byte("\x16\x03\x01\x01\x00"))
			peers.Go(func() {
				for {
					time.Sleep(100 * time.Millisecond)
					if _, err := c.Write([]byte{1}); err != nil {
						return
					}
				}
			})
		}
		r.pipeFrom(otherAddr)
		if took := time.Since(began); took < helloTime || took > helloTime+2*yieldEvery {
			t.Errorf("accepted after %v, want some %v", took, helloTime)
		}
		r.end()
		peers.Wait()
	})
}

// TestWaitingForATurnIsNotSlow: what a handshake waits for here is no time of its
// peer's.
func TestWaitingForATurnIsNotSlow(t *testing.T) {
	o, config := secret(t)
	o.Handshakes = 2
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		for range cap(r.shaking) {
			r.shaking.Take()
		}
		var peers sync.WaitGroup
		for range 2 {
			c := r.pipeFrom(crowdAddr).encrypted(config)
			peers.Go(func() {
				c.Write(framed([]byte("a")))
				if got, err := readFrame(c); string(got) != "a" {
					t.Errorf("got %q and %v", got, err)
				}
			})
		}
		peers.Go(func() { r.pipeFrom(otherAddr) })
		time.Sleep(hurried - time.Second)
		for range cap(r.shaking) {
			r.shaking.Pass()
		}
		peers.Wait()
	})
}

// seated is the crowd of so many seats with handshakes of the addresses, as many as
// each says, that began when the time was then.
func seated(seats int, then time.Time, many map[netip.Addr]int) *crowd {
	w := newCrowd(seats)
	for from, n := range many {
		for range n {
			c := &conn{socket: &hailing{from: from}, accepted: then, wire: &wire{}}
			c.wire.peer.ends.Store(then.Add(helloTime).UnixNano())
			w.enter(c)
		}
	}
	return &w
}

func TestPick(t *testing.T) {
	a, b := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("::ffff:192.0.2.8")
	many := func(n int) map[netip.Addr]int { return map[netip.Addr]int{a: n, b: 1} }
	network := map[netip.Addr]int{}
	for i := range 32 {
		network[netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)})] = 1
	}
	tests := map[string]struct {
		many map[netip.Addr]int
		age  time.Duration
		from netip.Addr
		want error
	}{
		"a crowd":               {many(32), helloTime, a, errCrowded},
		"a crowd of quick ones": {many(32), helloTime - 1, netip.Addr{}, nil},
		"too few for a crowd":   {many(31), hurried, netip.Addr{}, nil},
		"too few, but long":     {map[netip.Addr]int{a: 31}, hurried + 1, a, errHurried},
		"the larger of two":     {map[netip.Addr]int{a: 40, b: 41}, helloTime, b, errCrowded},
		"a network of IPv6":     {network, helloTime, netip.MustParseAddr("2001:db8::"), errCrowded},
		"nobody":                {nil, 0, netip.Addr{}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			w := seated(512, now.Add(-test.age), test.many)
			c, err := w.pick(now)
			if !errors.Is(err, test.want) || (c == nil) != (err == nil) {
				t.Fatalf("got %v and %v, want %v", c, err, test.want)
			}
			if c == nil {
				return
			}
			from := kafka.Network(test.from)
			if got := networkOf(c.socket.RemoteAddr()); got != from {
				t.Errorf("got one of %v, want of %v", got, from)
			}
			before := len(w.rows[from])
			if w.leave(c); len(w.rows[from]) != before {
				t.Error("it was still there")
			}
		})
	}
}

// TestPickTheOldest: of addresses that are no crowds the handshake gives way that
// lasts longest.
func TestPickTheOldest(t *testing.T) {
	now := time.Now()
	w := newCrowd(512)
	for i := range 50 {
		age := hurried + time.Duration(1+i*7%50)*time.Second
		w.enter(&conn{socket: &hailing{from: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})}, accepted: now.Add(-age), wire: &wire{}})
	}
	for i := 50; i > 0; i-- {
		c, err := w.pick(now)
		if !errors.Is(err, errHurried) || now.Sub(c.accepted) != hurried+time.Duration(i)*time.Second {
			t.Fatalf("got %v, want the one that lasts %v", err, hurried+time.Duration(i)*time.Second)
		}
	}
}

// BenchmarkPick finds who gives way among 512, or that nobody has to.
func BenchmarkPick(b *testing.B) {
	each := map[netip.Addr]int{}
	for i := range 512 {
		each[netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})] = 1
	}
	now := time.Now()
	for name, many := range map[string]map[netip.Addr]int{"one address": {crowdAddr: 512}, "512 addresses": each} {
		b.Run(name, func(b *testing.B) {
			w := seated(512, now, many)
			for b.Loop() {
				if c, _ := w.pick(now); c != nil {
					b.Fatal("somebody gives way")
				}
			}
		})
	}
}

// TestMoreAnswersGainNoTime: the time for what follows our first answer is had once,
// however often a peer makes us answer.
func TestMoreAnswersGainNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		go io.Copy(io.Discard, near)
		w := &wire{Conn: far}
		for _, want := range []time.Duration{replyTime, replyTime * 2 / 3, replyTime / 3} {
			if _, err := w.Write([]byte("an answer")); err != nil {
				t.Fatal(err)
			}
			if w.peer.left != want {
				t.Errorf("the peer has %v left, want %v", w.peer.left, want)
			}
			w.peer.run()
			time.Sleep(replyTime / 3)
			w.peer.stand()
		}
	})
}
