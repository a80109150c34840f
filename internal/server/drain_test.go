package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// everything is a handler whose first byte after the api key says what to do.
type everything struct {
	handler
	mute     *mute
	commit   chan error
	parked   atomic.Int32
	finished atomic.Int32
}

func newEverything() *everything {
	h := &everything{mute: newMute(time.Hour), commit: make(chan error)}
	h.serve = func(ctx context.Context, r *Request) (Answer, error) {
		a := reply(append([]byte(nil), r.Frame...))
		switch string(r.Frame[2:]) {
		case "mute":
			a.Mute = h.mute
		case "park":
			parked, resume := r.Park(ctx)
			h.parked.Add(1)
			<-parked.Done()
			resume()
		case "work":
			time.Sleep(time.Second)
			h.finished.Add(1)
		case "commit":
			a.Alone = false
			a.Wait = func(context.Context) error { return <-h.commit }
		case "delay":
			a.Delay = time.Hour
		case "stuck":
			<-ctx.Done()
		}
		return a, nil
	}
	return h
}

// TestDrain stops a server in the middle of everything.
func TestDrain(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		h := newEverything()
		r.handler = h
		idle, half, muted := r.pipe(), r.pipe(), r.pipe()
		parked, working, delayed := r.pipe(), r.pipe(), r.pipe()
		half.send(framed([]byte("\x00\x03half"))[:7])
		muted.send(framed([]byte("\x00\x03mute")))
		muted.receive()
		parked.send(framed([]byte("\x00\x03park")))
		working.send(append(framed([]byte("\x00\x03work")), framed([]byte("\x00\x03next"))...))
		delayed.send(framed([]byte("\x00\x03delay")))
		committing := r.pipe()
		committing.send(produceFrame("commit"))
		synctest.Wait()

		began := time.Now()
		r.stop()
		go func() { time.Sleep(time.Second / 2); h.commit <- nil }()
		for name, c := range map[string]*client{"idle": idle, "half": half, "muted": muted, "delayed": delayed} {
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("%s: closed after %v, want at once", name, took)
			}
		}
		for want, c := range map[string]*client{"park": parked, "work": working, "commit": committing} {
			if got := string(c.receive()[2:]); got != want {
				t.Errorf("got %q, want the answer in flight %q", got, want)
			}
			c.closed()
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("stopped after %v, want 1s", took)
		}
		if h.mute.done.Load() != 1 || h.ended.Load() != 7 {
			t.Errorf("got %d mutes done and %d sessions ended", h.mute.done.Load(), h.ended.Load())
		}
		if open := r.value("kaasd_connections", "PLAINTEXT"); open != 0 {
			t.Errorf("got %v connections open", open)
		}
	})
}

func TestDrainFlushesOutstandingAnswers(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		h := newEverything()
		r.handler = h
		c := r.pipe()
		c.send(produceFrame("commit"))
		h.commit <- nil
		c.receive()
		for range 3 {
			c.send(produceFrame("commit"))
		}
		synctest.Wait()
		r.stop()
		for range 3 {
			h.commit <- nil
			c.receive()
		}
		c.closed()
	})
}

func TestDrainCutsWhatTakesTooLong(t *testing.T) {
	o := testOptions()
	o.DrainTimeout = 5 * time.Second
	bubble(t, o, &handler{}, func(t *testing.T, r *rig) {
		r.handler = newEverything()
		c := r.pipe()
		c.send(framed([]byte("\x00\x03stuck")))
		synctest.Wait()
		began := time.Now()
		err := r.end()
		if err == nil || !strings.HasPrefix(err.Error(), "1 connections were not finished within 5s") {
			t.Errorf("got %v, want the number that was cut", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("stopped after %v, want 5s", took)
		}
	})
}

// TestStalledReaders: a peer that takes nothing has 30 s, at a stop 2 s.
func TestStalledReaders(t *testing.T) {
	tests := map[string]struct {
		stopAfter, want time.Duration
	}{
		"running":          {0, 30 * time.Second},
		"stopped meantime": {5 * time.Second, 7 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
				time.Sleep(12345 * time.Millisecond) // the deadline armed at accept is no longer the right one
				c := r.pipe()
				time.Sleep(6789 * time.Millisecond)
				began := time.Now()
				c.send(framed([]byte("ping")))
				if test.stopAfter > 0 {
					time.Sleep(test.stopAfter)
					r.stop()
				}
				for r.open() > 0 {
					time.Sleep(10 * time.Millisecond)
				}
				if took := time.Since(began); took < test.want || took > test.want+20*time.Millisecond {
					t.Errorf("closed after %v, want %v", took, test.want)
				}
			})
		})
	}
}

// stallOf are the clients that ask for an answer of 100 KiB, take some of it, and
// then nothing: without TLS and with it.
func stallOf(t *testing.T, f func(t *testing.T, r *rig, c *client)) {
	t.Helper()
	encrypting, config := secret(t)
	body := bytes.Repeat([]byte("x"), 100<<10)
	h := &handler{serve: func(context.Context, *Request) (Answer, error) { return reply(body), nil }}
	for name, o := range map[string]Options{"plain": testOptions(), "TLS": encrypting} {
		t.Run(name, func(t *testing.T) {
			bubble(t, o, h, func(t *testing.T, r *rig) {
				c := r.pipe()
				if o.encrypted() > 0 {
					c = c.encrypted(config)
				}
				c.send(framed(nil))
				if _, err := io.ReadFull(c, make([]byte, 20<<10)); err != nil {
					t.Fatal(err)
				}
				f(t, r, c)
			})
		})
	}
}

// TestStalledSinceBeforeTheStop: what a peer has taken before the stop is no sign
// that it takes anything now.
func TestStalledSinceBeforeTheStop(t *testing.T) {
	stallOf(t, func(t *testing.T, r *rig, c *client) {
		time.Sleep(3 * time.Second)
		began := time.Now()
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < stopPatience || took > stopPatience+stopPatience/glances {
			t.Errorf("stopped after %v, want some %v", took, stopPatience)
		}
	})
}

// TestStalledInTheMiddle: the patience begins with the last byte, not with the end
// of the call that has moved it.
func TestStalledInTheMiddle(t *testing.T) {
	stallOf(t, func(t *testing.T, r *rig, c *client) {
		began, want := time.Now(), r.options.WriteTimeout
		for r.open() > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took < want || took > want+want/glances+20*time.Millisecond {
			t.Errorf("closed after %v, want some %v", took, want)
		}
	})
}

// TestSlowReaderAtTheStop: who takes bytes gets its answer.
func TestSlowReaderAtTheStop(t *testing.T) {
	stallOf(t, func(t *testing.T, r *rig, c *client) {
		r.stop()
		for at := 20 << 10; at < 4+100<<10; {
			time.Sleep(stopPatience * 3 / 8) // TLS takes records of 16 KiB from the pipe
			n, err := c.Read(make([]byte, 8<<10))
			if err != nil {
				t.Fatalf("after %d bytes: %v", at, err)
			}
			at += n
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestStalledOverTLSAtTheEnd: a peer whose requests wait, and that takes nothing,
// is not waited for with the end of TLS.
func TestStalledOverTLSAtTheEnd(t *testing.T) {
	o, config := secret(t)
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		c := r.pipe().encrypted(config)
		c.send(framed(nil))
		c.receive()
		synctest.Wait()
		for _, served := range r.connections() {
			began := time.Now()
			served.sayGoodbye()
			if took := time.Since(began); took > 2*lingerTime {
				t.Errorf("said after %v, want %v at the most", took, 2*lingerTime)
			}
		}
	})
}

// open is how many connections the server has.
func (r *rig) open() int { return len(r.connections()) }

// TestSlowReaderIsKept: a peer that takes some bytes every 20 s is slow, not
// stalled.
func TestSlowReaderIsKept(t *testing.T) {
	bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
		c := r.pipe()
		c.send(framed(make([]byte, 300)))
		got := 0
		for got < 304 {
			time.Sleep(20 * time.Second)
			n, err := c.Read(make([]byte, 16))
			if err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
			got += n
		}
	})
}

func TestCloseSessions(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		h := newEverything()
		r.handler = h
		muted, parked, kept := r.pipe(), r.pipe(), r.pipe()
		muted.send(framed([]byte("\x00\x03mute")))
		muted.receive()
		parked.send(framed([]byte("\x00\x03park")))
		synctest.Wait()
		began := time.Now()
		r.CloseSessions(func(s Session) bool { return s.(*session).conn.ID <= 2 })
		muted.closed()
		parked.closed()
		if took := time.Since(began); took != 0 {
			t.Errorf("closed after %v, want at once", took)
		}
		kept.send(framed([]byte("\x00\x03kept")))
		kept.receive()
	})
}

// TestCloseSessionsAfterTheAnswer: the answer in flight still arrives, and no
// request after it is served; one that takes too long is cut.
func TestCloseSessionsAfterTheAnswer(t *testing.T) {
	bubble(t, testOptions(), &handler{}, func(t *testing.T, r *rig) {
		h := newEverything()
		short := h.serve
		h.serve = func(ctx context.Context, q *Request) (Answer, error) {
			if string(q.Frame[2:]) == "brief" {
				time.Sleep(time.Second / 4)
				h.finished.Add(1)
			}
			return short(ctx, q)
		}
		r.handler = h
		brief, stuck, committing := r.pipe(), r.pipe(), r.pipe()
		brief.send(append(framed([]byte("\x00\x03brief")), framed([]byte("\x00\x03brief"))...))
		stuck.send(framed([]byte("\x00\x03stuck")))
		committing.send(produceFrame("commit"))
		synctest.Wait()
		began := time.Now()
		r.CloseSessions(func(Session) bool { return true })
		go func() { time.Sleep(time.Second / 2); h.commit <- nil }()
		if got := string(brief.receive()[2:]); got != "brief" {
			t.Errorf("got %q, want the answer in flight", got)
		}
		if got := string(committing.receive()[2:]); got != "commit" {
			t.Errorf("got %q, want the answer that waited for its commit", got)
		}
		brief.closed()
		stuck.closed()
		committing.closed()
		if took := time.Since(began); took > time.Second {
			t.Errorf("closed after %v", took)
		}
		synctest.Wait()
		if got := h.finished.Load(); got != 1 {
			t.Errorf("%d requests were served, want the one in flight", got)
		}
	})
}

func TestConnectionAfterTheStopIsRefused(t *testing.T) {
	bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
		r.end()
		near, far := net.Pipe()
		r.welcome(r.doors[0], far)
		if _, err := near.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("got %v, want it closed", err)
		}
		if got := r.value("kaasd_connections_rejected_total", "PLAINTEXT", "draining"); got != 1 {
			t.Errorf("got %v counted, want 1", got)
		}
	})
}

// TestLastAnswerArrives: requests that are still in the socket at a stop do
// not turn the answer before them into a reset.
func TestLastAnswerArrives(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	r := start(t, testOptions(), &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		close(begun)
		<-finish
		return echo(ctx, r)
	}})
	c := r.dial()
	c.send(append(framed([]byte("last")), framed(make([]byte, 100<<10))...))
	<-begun
	r.stop()
	eventually(t, "the server stops", func() bool { return r.stopped.Load() != nil })
	close(finish)
	if got := string(c.receive()); got != "last" {
		t.Errorf("got %q", got)
	}
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %d bytes and %v, want the end of the stream", n, err)
	}
	c.Close()
	r.end()
}
