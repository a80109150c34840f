package server

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
)

// ceaseless is a connection whose peer has sent all its requests and takes every
// answer at once, so that nothing on it ever waits.
type ceaseless struct {
	net.Conn
	left int
	body []byte
}

func (c *ceaseless) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return copy(p, c.body), nil
}

func (c *ceaseless) Write(p []byte) (int, error) { return len(p), nil }

// ceaseless runs the server, with one such connection of so many requests.
func (r *rig) ceaseless(t *testing.T, requests int) {
	door := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	r.doors[0].bound(door)
	r.run()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	door.conns <- &ceaseless{far, requests, framed([]byte("abcdefgh"))}
}

// TestWhoNeverWaitsLetsOthersGo: on one processor, others get a turn between the
// requests of a connection on which hundreds more lie ready.
func TestWhoNeverWaitsLetsOthersGo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const many, work = 200, turnTime / 10
	var served, went, most atomic.Int64
	r := prepare(t, testOptions(), &handler{serve: func(_ context.Context, r *Request) (Answer, error) {
		most.Store(max(most.Load(), served.Add(1)-went.Load()))
		go went.Add(1)
		for begun := time.Now(); time.Since(begun) < work; {
		}
		return reply(r.Frame), nil
	}}, zap.NewNop())
	r.ceaseless(t, many)
	eventually(t, "all are served", func() bool { return served.Load() == many && went.Load() == many })
	if got := most.Load(); got > many/10 {
		t.Errorf("%d were served at a stretch", got)
	}
}

// TestGiveWay: who has had a turn begins another one when it goes on, and not before:
// what passes meanwhile is work of others.
func TestGiveWay(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	c := conn{turn: began}
	if got := c.giveWay(began.Add(turnTime-1), turnTime); got != began.Add(turnTime-1) || c.turn != began {
		t.Errorf("within its turn it goes on at %v, with the turn of %v", got, c.turn)
	}
	if got := c.giveWay(began.Add(turnTime), turnTime); got.Sub(began) < time.Hour || c.turn != got {
		t.Errorf("after its turn it goes on %v after that began, with one of %v", got.Sub(began), c.turn.Sub(began))
	}
}

// TestOthersTurnsAreNoWork: a request was received when its connection goes on, not
// before others had their turn, or their work would be charged to its owner.
func TestOthersTurnsAreNoWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const many = 200
	work := func() {
		for begun := time.Now(); time.Since(begun) < turnTime; {
		}
	}
	var served, went, last, charged atomic.Int64
	other := func() {
		work()
		last.Store(time.Now().UnixNano())
		went.Add(1)
	}
	r := prepare(t, testOptions(), &handler{serve: func(_ context.Context, r *Request) (Answer, error) {
		if r.Received.UnixNano() < last.Load() {
			charged.Add(1)
		}
		go other()
		work()
		served.Add(1)
		return reply(r.Frame), nil
	}}, zap.NewNop())
	r.ceaseless(t, many)
	eventually(t, "all are served", func() bool { return served.Load() == many && went.Load() == many })
	if got := charged.Load(); got > many/10 { // Go may take the processor away in between
		t.Errorf("%d of %d requests were received before others had their turn", got, many)
	}
}
