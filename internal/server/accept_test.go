package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// refusing is an Admitter that refuses every second connection.
type refusing struct{ asked atomic.Int32 }

func (a *refusing) Admit(string, net.Addr, time.Time) Admission {
	if a.asked.Add(1)%2 == 0 {
		return Admission{Wait: time.Millisecond, Refuse: errors.New("connection rate of 127.0.0.1 exceeded")}
	}
	return Admission{}
}

func TestLimitsAtAccept(t *testing.T) {
	tests := map[string]struct {
		change func(*Options)
		reason string
	}{
		"max.connections":        {func(o *Options) { o.MaxConnections = 1 }, "limit"},
		"max.connections.per.ip": {func(o *Options) { o.MaxConnectionsPerIP = 1 }, "limit"},
		"admitter":               {func(o *Options) { o.Admitter = &refusing{} }, "quota"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			test.change(&o)
			r := prepare(t, o, &handler{serve: echo}, zap.NewNop())
			if err := r.Listen(); err != nil {
				t.Fatal(err)
			}
			for _, reason := range []string{"limit", "quota", "draining"} {
				if got := r.value("kaasd_connections_rejected_total", "PLAINTEXT", reason); got != 0 {
					t.Errorf("reason %s: got %v at the start, want 0", reason, got)
				}
			}
			r.run()
			first := r.dial()
			first.send(framed([]byte("a")))
			first.receive()
			r.dial().closed()
			first.send(framed([]byte("b")))
			first.receive()
			first.Close()
			eventually(t, "the place is free again", func() bool { return r.open() == 0 })
			again := r.dial()
			again.send(framed([]byte("c")))
			again.receive()
			if got := r.value("kaasd_connections_rejected_total", "PLAINTEXT", test.reason); got != 1 {
				t.Errorf("got %v rejected for %s, want 1", got, test.reason)
			}
			if got := r.value("kaasd_connections_accepted_total", "PLAINTEXT"); got != 2 {
				t.Errorf("got %v accepted, want 2", got)
			}
		})
	}
}

// exhausted is a listener that has no descriptors for a while.
type exhausted struct {
	*pipes
	fails atomic.Int32
}

func (e *exhausted) Accept() (net.Conn, error) {
	if e.fails.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return e.pipes.Accept()
}

// TestAcceptSurvivesExhaustion: the loop pauses and goes on.
func TestAcceptSurvivesExhaustion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.WarnLevel)
		r := prepare(t, testOptions(), &handler{serve: echo}, zap.New(core))
		socket := &exhausted{pipes: &pipes{conns: make(chan net.Conn), done: make(chan struct{})}}
		socket.fails.Store(20)
		r.doors[0].bound(socket)
		r.run()
		near, far := net.Pipe()
		socket.conns <- far
		c := &client{near, t}
		c.send(framed([]byte("a")))
		c.receive()
		near.Close()
		r.end()
		if got := logs.Len(); got != 2 { // 14 s of failing
			t.Errorf("got %d log lines, want one per 10 s", got)
		}
	})
}

// panicking panics in the place it is told to.
type panicking struct {
	session
	where string
}

func (p *panicking) Connect(c Conn) (Session, error) {
	p.panicAt("connect")
	return &panicking{session{handler: p.handler, conn: c}, p.where}, nil
}

func (p *panicking) panicAt(where string) {
	if p.where == where {
		panic("broken: " + where)
	}
}

func (p *panicking) Admit(int, []byte) (Mute, error) { p.panicAt("admit"); return nil, nil }
func (p *panicking) Sent(time.Duration)              { p.panicAt("sent") }
func (p *panicking) End()                            { p.panicAt("end") }

func (p *panicking) Serve(ctx context.Context, r *Request) (Answer, error) {
	p.panicAt("serve")
	a, err := echo(ctx, r)
	a.Payload = &panickingPayload{a.Payload, p}
	a.Wait = func(context.Context) error { p.panicAt("wait"); return nil }
	a.Alone = p.where != "outstanding"
	a.Close = p.where == "end"
	return a, err
}

type panickingPayload struct {
	Payload
	at *panicking
}

func (p *panickingPayload) WriteTo(w io.Writer) (int64, error) {
	p.at.panicAt("write")
	if p.at.where == "outstanding" && p.Size() > 600 {
		panic("broken: outstanding")
	}
	return p.Payload.WriteTo(w)
}

func TestPanicsEndOneConnection(t *testing.T) {
	for _, where := range []string{"connect", "admit", "serve", "wait", "write", "sent", "outstanding", "end"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zapcore.ErrorLevel)
				h := &panicking{session{handler: &handler{}}, where}
				r := prepare(t, testOptions(), h, zap.New(core))
				r.doors[0].bound(&pipes{conns: make(chan net.Conn), done: make(chan struct{})})
				r.run()
				c := r.pipe()
				go c.Write(framed(make([]byte, 700)))
				io.Copy(io.Discard, c)
				synctest.Wait()
				if r.open() != 0 || logs.FilterMessage("panic while serving a connection").Len() != 1 {
					t.Errorf("got %d connections open and log %v, want it closed and one line", r.open(), logs.All())
				}
				h.where = ""
				c = r.pipe()
				c.send(framed([]byte("alive")))
				c.receive()
				r.end()
			})
		})
	}
}
