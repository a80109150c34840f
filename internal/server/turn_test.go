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
	door := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	r.doors[0].bound(door)
	r.run()
	near, far := net.Pipe()
	defer near.Close()
	door.conns <- &ceaseless{far, many, framed([]byte("abcdefgh"))}
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
