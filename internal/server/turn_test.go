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
