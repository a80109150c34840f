package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// mute is a Mute whose end can be moved.
type mute struct {
	mu      sync.Mutex
	until   time.Time
	changed chan struct{}
	done    atomic.Int32
}

func newMute(d time.Duration) *mute {
	return &mute{until: time.Now().Add(d), changed: make(chan struct{})}
}

func (m *mute) Remaining(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.until.Sub(now)
}

func (m *mute) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

func (m *mute) Done() { m.done.Add(1) }

// move sets a new end.
func (m *mute) move(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until = until
	close(m.changed)
	m.changed = make(chan struct{})
}

// muting answers every frame with itself and mutes; "silent" has no answer.
func muting(m *mute) *handler {
	return &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		if string(r.Frame) == "silent" {
			return Answer{Mute: m}, nil
		}
		a, _ := echo(ctx, r)
		if string(r.Frame) == "mute" {
			a.Mute = m
		}
		return a, nil
	}}
}

func TestMuteComesAfterTheAnswer(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		m := newMute(time.Hour) // longer than the idle limit
		r.handler.(*handler).serve = muting(m).serve
		c, other := r.pipe(), r.pipe()
		began := time.Now()
		c.send(framed([]byte("mute")))
		c.receive()
		if took := time.Since(began); took != 0 {
			t.Errorf("the answer came after %v, want at once", took)
		}
		other.send(framed([]byte("other")))
		other.receive()
		c.send(framed([]byte("next"))) // a pipe takes nothing that is not read
		if took := time.Since(began); took != time.Hour {
			t.Errorf("read again after %v, want 1h", took)
		}
		c.receive()
		if got := m.done.Load(); got != 1 {
			t.Errorf("done %d times, want once", got)
		}
	})
}

func TestMuteWithoutAnswer(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		m := newMute(9 * time.Second)
		r.handler.(*handler).serve = muting(m).serve
		c := r.pipe()
		began := time.Now()
		c.send(framed([]byte("silent")))
		c.send(framed([]byte("next")))
		if got, took := string(c.receive()), time.Since(began); got != "next" || took != 9*time.Second {
			t.Errorf("got %q after %v, want the next answer after 9s", got, took)
		}
	})
}

func TestWhoIsClosedIsNotMutedFirst(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		m := newMute(time.Hour)
		r.handler.(*handler).serve = func(context.Context, *Request) (Answer, error) { return Answer{Mute: m, Close: true}, nil }
		c := r.pipe()
		began := time.Now()
		c.send(framed([]byte("acks=0")))
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || time.Since(began) != 0 {
			t.Errorf("read %d bytes, %v after %v, want the end at once", n, err, time.Since(began))
		}
		synctest.Wait()
		if got := m.done.Load(); got != 1 {
			t.Errorf("done %d times, want once", got)
		}
	})
}

func TestMuteIsAskedAgain(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		m := newMute(time.Hour)
		r.handler.(*handler).serve = muting(m).serve
		c := r.pipe()
		began := time.Now()
		c.send(framed([]byte("mute")))
		c.receive()
		time.Sleep(time.Second)
		m.move(began.Add(2 * time.Hour)) // a lower limit
		time.Sleep(time.Second)
		m.move(began.Add(3 * time.Second)) // a higher one
		c.send(framed([]byte("next")))
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("read again after %v, want 3s", took)
		}
		c.receive()
	})
}

func TestMuteIsDoneWhenTheAnswerCannotBeWritten(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		m := newMute(time.Hour)
		r.handler.(*handler).serve = muting(m).serve
		c := r.pipe()
		c.send(framed([]byte("mute")))
		c.Close()
		synctest.Wait()
		if got := m.done.Load(); got != 1 {
			t.Errorf("done %d times, want once", got)
		}
	})
}

// leaving are the ways in which a peer goes.
var leaving = map[string]func(t *testing.T, c *client){
	"close": func(_ *testing.T, c *client) { c.Close() },
	"reset": func(t *testing.T, c *client) {
		if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		c.Close()
	},
	"close its side": func(t *testing.T, c *client) {
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	},
}

// TestPeerGoneWhileMuted uses real sockets: within a second.
func TestPeerGoneWhileMuted(t *testing.T) {
	for name, leave := range leaving {
		t.Run(name, func(t *testing.T) {
			m := newMute(time.Hour)
			h := muting(m)
			r := start(t, testOptions(), h)
			c := r.dial()
			c.send(framed([]byte("mute")))
			c.receive()
			leave(t, c)
			eventually(t, "the connection of a muted peer that went away ends", func() bool {
				return h.ended.Load() == 1 && m.done.Load() == 1
			})
		})
	}
}

// TestPeerGoneBeforeTheMute: it was heard while the request was served, which
// goes on, and ends the mute after it.
func TestPeerGoneBeforeTheMute(t *testing.T) {
	m := newMute(time.Hour)
	h := muting(m)
	answer := h.serve
	begun, finish := make(chan struct{}), make(chan struct{})
	h.serve = func(ctx context.Context, r *Request) (Answer, error) {
		close(begun)
		<-finish
		return answer(ctx, r)
	}
	r := start(t, testOptions(), h)
	c := r.dial()
	c.send(framed([]byte("mute")))
	<-begun
	leaving["close its side"](t, c)
	served := r.connections()[0]
	eventually(t, "the peer is known to be gone", func() bool { return served.gone.Load() || !served.watched })
	close(finish)
	c.receive()
	eventually(t, "the connection ends", func() bool { return h.ended.Load() == 1 && m.done.Load() == 1 })
}

// TestPeek finds the end of a stream in a socket that is looked at alone.
func TestPeek(t *testing.T) {
	for name, leave := range leaving {
		t.Run(name, func(t *testing.T) {
			m := newMute(time.Hour)
			r := start(t, testOptions(), muting(m))
			c := r.dial()
			c.send(framed([]byte("mute")))
			c.receive()
			served := r.connections()[0]
			if served.peerGone() {
				t.Error("a peer that is there was taken for gone")
			}
			leave(t, c)
			eventually(t, "the peer is seen to be gone", served.peerGone)
		})
	}
}

// TestMutedPeerWithBytesIsKept: the next request must not look like an end.
func TestMutedPeerWithBytesIsKept(t *testing.T) {
	m := newMute(2 * lookEvery)
	r := start(t, testOptions(), muting(m))
	c := r.dial()
	c.send(framed([]byte("mute")))
	c.receive()
	c.send(framed([]byte("next")))
	if got := string(c.receive()); got != "next" {
		t.Errorf("got %q", got)
	}
}

// eventually waits for real time to make it true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not seen: %s", what)
		}
	}
}

// parking parks on "park" until the context ends and says why it did.
func parking(ended chan error) *handler {
	return &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		if string(r.Frame) == "park" {
			parked, resume := r.Park(ctx)
			select {
			case <-parked.Done():
				resume()
				ended <- context.Cause(parked)
			case <-time.After(time.Minute):
				resume()
			}
		}
		return echo(ctx, r)
	}}
}

func TestPeerGoneWhileParked(t *testing.T) {
	ended := make(chan error, 1)
	r := start(t, testOptions(), parking(ended))
	c := r.dial()
	c.send(framed([]byte("park")))
	c.Close()
	if err := <-ended; !errors.Is(err, errGone) {
		t.Errorf("got %v, want %v", err, errGone)
	}
}

// TestGoneEndLittleByLittle: of thousands that wait, and whose peers have all gone, only
// some end at a time.
func TestGoneEndLittleByLittle(t *testing.T) {
	const many = 3 * abortTurn
	ended := make(chan error, many)
	bubble(t, testOptions(), parking(ended), func(t *testing.T, r *rig) {
		for range many {
			r.pipe().send(framed([]byte("park")))
		}
		synctest.Wait()
		for _, c := range r.connections() {
			c.gone.Store(true)
		}
		time.Sleep(lookEvery - abortEvery)
		for i := range 1 + many/abortTurn {
			synctest.Wait()
			if got := len(ended); got != i*abortTurn {
				t.Errorf("%d have ended after %d times, want %d at a time", got, i, abortTurn)
			}
			time.Sleep(abortEvery)
		}
	})
}

// TestParkedRequestKeepsTheOrder: requests pipelined behind a parked one are
// answered after it, none is lost, and other connections go on.
func TestParkedRequestKeepsTheOrder(t *testing.T) {
	bubble(t, testOptions(), parking(nil), func(t *testing.T, r *rig) {
		c, other := r.pipe(), r.pipe()
		began := time.Now()
		var stream []byte
		want := []string{"park"}
		for i := range 100 {
			want = append(want, string(rune('0'+i)))
		}
		for _, body := range want {
			stream = append(stream, framed([]byte(body))...)
		}
		go c.Write(stream)
		other.send(framed([]byte("other")))
		other.receive()
		if took := time.Since(began); took != 0 {
			t.Errorf("another connection waited %v", took)
		}
		for i, body := range want {
			if got := string(c.receive()); got != body {
				t.Fatalf("answer %d: got %q, want %q", i, got, body)
			}
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("answered after %v, want the parked minute", took)
		}
	})
}

func TestParkWithoutServer(t *testing.T) {
	r := &Request{}
	ctx, resume := r.Park(t.Context())
	resume()
	if ctx != t.Context() {
		t.Error("got another context")
	}
}

func TestDelayHoldsTheAnswer(t *testing.T) {
	h := &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		a, err := echo(ctx, r)
		a.Delay, a.Close = time.Second, true
		return a, err
	}}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		c := r.pipe()
		began := time.Now()
		c.send(framed([]byte("wrong password")))
		c.receive()
		if took := time.Since(began); took != time.Second {
			t.Errorf("answered after %v, want 1s", took)
		}
		c.closed()
	})
}
