package server

import (
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

var errTooMany = errors.New("too many connections a second")

// admitting is an Admitter that says next of every connection.
type admitting struct{ next atomic.Pointer[Admission] }

func (a *admitting) Admit(string, net.Addr, time.Time) Admission { return *a.next.Load() }

func (a *admitting) say(wait time.Duration, refuse error) {
	a.next.Store(&Admission{Wait: wait, Refuse: refuse})
}

// guarded is a bubble with an admitter, and room for so many on the porch.
func guarded(t *testing.T, o Options, room int, f func(t *testing.T, r *rig, a *admitting)) {
	t.Helper()
	a := &admitting{}
	a.say(0, nil)
	o.Admitter = a
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		r.porch.mu.Lock()
		r.porch.room = room
		r.porch.mu.Unlock()
		f(t, r, a)
	})
}

// noted is a connection that notes when the server closes it.
type noted struct {
	net.Conn
	closed time.Time
}

func (n *noted) Close() error {
	n.closed = time.Now()
	return n.Conn.Close()
}

// knock brings a connection whose peer does nothing to the server's first door.
func (r *rig) knock() (*noted, net.Conn) {
	near, far := net.Pipe()
	n := &noted{Conn: far}
	r.doors[0].socket.(*pipes).conns <- n
	synctest.Wait()
	return n, near
}

func TestRefusedConnectionIsHeldUnread(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	a := &admitting{}
	a.say(time.Second, errTooMany)
	o := testOptions()
	o.Admitter = a
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, o, &handler{serve: echo}, zap.New(core))
		r.doors[0].bound(&pipes{conns: make(chan net.Conn), done: make(chan struct{})})
		r.run()
		began := time.Now()
		for range 3 {
			c := r.pipe()
			wrote := make(chan error)
			go func() {
				_, err := c.Write(framed([]byte("hello")))
				wrote <- err
			}()
			c.closed()
			if err := <-wrote; !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("what a refused client writes ends with %v, want it unread", err)
			}
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("three were closed after %v, want a second each", took)
		}
		for name, want := range map[string]float64{"kaasd_connections": 0, "kaasd_connections_accepted_total": 0} {
			if got := r.value(name, "PLAINTEXT"); got != want {
				t.Errorf("got %s %v, want %v", name, got, want)
			}
		}
		if got := r.value("kaasd_connections_rejected_total", "PLAINTEXT", "quota"); got != 3 {
			t.Errorf("got %v counted, want 3", got)
		}
		if got := logs.FilterMessage("connection refused").Len(); got != 1 {
			t.Errorf("got %d log lines, want one per 10 s", got)
		}
		r.end()
	})
}

// TestStormOfRefusedConnections: they close when each is due, cost no
// goroutine and no connection of those there may be, and a connection that is
// served does not notice.
func TestStormOfRefusedConnections(t *testing.T) {
	const storm = 2000
	o := testOptions()
	o.MaxConnections, o.MaxConnectionsPerIP = 2, 2
	guarded(t, o, storm, func(t *testing.T, r *rig, a *admitting) {
		served := r.pipe()
		served.send(framed([]byte("before")))
		served.receive()
		goroutines := runtime.NumGoroutine()
		held, due := make([]*noted, storm), make([]time.Time, storm)
		for i := range held {
			wait := time.Duration(1+i*337%1000) * time.Millisecond
			a.say(wait, errTooMany)
			held[i], _ = r.knock()
			due[i] = time.Now().Add(wait)
			if i%50 == 49 {
				asked := time.Now()
				served.send(framed([]byte("meanwhile")))
				served.receive()
				if took := time.Since(asked); took != 0 {
					t.Fatalf("the served connection waited %v", took)
				}
				time.Sleep(time.Millisecond)
			}
		}
		if got := runtime.NumGoroutine(); got > goroutines {
			t.Errorf("got %d goroutines with %d sockets held, %d without", got, storm, goroutines)
		}
		a.say(0, nil)
		second := r.pipe()
		second.send(framed([]byte("there is room for a second one")))
		second.receive()
		time.Sleep(time.Second)
		synctest.Wait()
		for i, n := range held {
			if !n.closed.Equal(due[i]) {
				t.Fatalf("connection %d was closed %v after it was due", i, n.closed.Sub(due[i]))
			}
		}
		if got := r.value("kaasd_connections_rejected_total", "PLAINTEXT", "quota"); got != storm {
			t.Errorf("got %v counted, want %d", got, storm)
		}
	})
}

// TestPorchIsFull: what has no room is closed at once, and a peer that leaves
// early gives its place back when it is due.
func TestPorchIsFull(t *testing.T) {
	guarded(t, testOptions(), 2, func(t *testing.T, r *rig, a *admitting) {
		a.say(time.Second, errTooMany)
		began := time.Now()
		first, peer := r.knock()
		peer.Close()
		second, _ := r.knock()
		third, _ := r.knock()
		time.Sleep(time.Second)
		synctest.Wait()
		fourth, _ := r.knock()
		time.Sleep(time.Second)
		synctest.Wait()
		var got []time.Duration
		for _, n := range []*noted{first, second, third, fourth} {
			got = append(got, n.closed.Sub(began))
		}
		if want := []time.Duration{time.Second, time.Second, 0, 2 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("closed after %v, want %v", got, want)
		}
	})
}

func TestStopWhileConnectionsAreHeld(t *testing.T) {
	guarded(t, testOptions(), 10, func(t *testing.T, r *rig, a *admitting) {
		a.say(time.Hour, errTooMany)
		var held []*noted
		for range 5 {
			n, _ := r.knock()
			held = append(held, n)
		}
		began := time.Now()
		if err := r.end(); err != nil {
			t.Error(err)
		}
		for i, n := range held {
			if !n.closed.Equal(began) {
				t.Errorf("connection %d was closed %v after the stop", i, n.closed.Sub(began))
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("stopped after %v, want at once", took)
		}
		near, far := net.Pipe()
		r.welcome(r.doors[0], far) // one that was accepted just before
		if _, err := near.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("got %v, want it closed", err)
		}
	})
}

// TestPauseOfAnAcceptor: a connection over the rate of its listener is served
// late; the ones behind it wait, and nobody else.
func TestPauseOfAnAcceptor(t *testing.T) {
	a := &admitting{}
	a.say(0, nil)
	o := testOptions()
	o.Admitter = onListener{"PLAINTEXT", a}
	o.Listeners = append(o.Listeners, Listener{Name: "OTHER", Protocol: Plaintext, Address: "127.0.0.1:0"})
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, o, &handler{serve: echo}, zap.NewNop())
		for _, d := range r.doors {
			d.bound(&pipes{conns: make(chan net.Conn), done: make(chan struct{})})
		}
		r.run()
		ping := func(c *client) {
			c.send(framed([]byte("ping")))
			c.receive()
		}
		served := r.pipe()
		ping(served)
		a.say(time.Second, nil)
		began := time.Now()
		late := r.pipe()
		other, far := net.Pipe()
		r.doors[1].socket.(*pipes).conns <- far
		ping(&client{other, t})
		ping(served)
		if took := time.Since(began); took != 0 {
			t.Errorf("another listener and a served connection waited %v", took)
		}
		ping(late)
		if took := time.Since(began); took != time.Second {
			t.Errorf("served after %v, want 1s", took)
		}
		a.say(time.Hour, nil)
		r.knock()
		began = time.Now()
		r.end()
		if took := time.Since(began); took != 0 {
			t.Errorf("the stop waited %v for the acceptor", took)
		}
		if got := r.value("kaasd_connections_rejected_total", "PLAINTEXT", "draining"); got != 1 {
			t.Errorf("got %v closed for the stop, want the one that waited", got)
		}
		other.Close()
	})
}

// onListener admits all on other listeners.
type onListener struct {
	name string
	Admitter
}

func (o onListener) Admit(listener string, remote net.Addr, now time.Time) Admission {
	if listener != o.name {
		return Admission{}
	}
	return o.Admitter.Admit(listener, remote, now)
}

// TestRestsBetweenRefusals: of thousands that come back at once not all are refused before
// anybody else is heard.
func TestRestsBetweenRefusals(t *testing.T) {
	guarded(t, testOptions(), 100, func(t *testing.T, r *rig, a *admitting) {
		a.say(time.Second, errTooMany)
		began := time.Now()
		for range 4*refusedTurn + 1 {
			r.pipe()
		}
		if took := time.Since(began); took != 4*closingRest {
			t.Errorf("%d were refused in %v, want a rest of %v after each %d", 4*refusedTurn, took, closingRest, refusedTurn)
		}
	})
}
