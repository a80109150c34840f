package server

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// produceFrame is a frame whose api key is that of Produce.
func produceFrame(body string) []byte { return framed(append([]byte{0, 0}, body...)) }

// committing answers Produce frames when commit hands out a result for each,
// and others at once.
type committing struct {
	handler
	commit   chan error
	served   atomic.Int32
	released atomic.Int32
}

func newCommitting() *committing {
	h := &committing{}
	h.serve = func(_ context.Context, r *Request) (Answer, error) {
		h.served.Add(1)
		a := reply(append([]byte(nil), r.Frame...))
		a.Payload.(*bytesPayload).released = &h.released
		if binary.BigEndian.Uint16(r.Frame) != 0 {
			return a, nil
		}
		a.Alone = false
		a.Wait = func(ctx context.Context) error {
			select {
			case err := <-h.commit:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return a, nil
	}
	return h
}

func TestOutstandingAnswersKeepTheOrder(t *testing.T) {
	h := newCommitting()
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		h.commit = make(chan error)
		c := r.pipe()
		c.send(produceFrame("first")) // the first one is waited for: its frame lies in the read buffer
		h.commit <- nil
		c.receive()
		go func() {
			for i := range 9 {
				c.Write(produceFrame(string(rune('a' + i))))
			}
			c.Write(framed([]byte{0, 3}))
		}()
		synctest.Wait()
		if got := h.served.Load(); got != 7 {
			t.Errorf("got %d served, want 1 and 5 outstanding and 1 that waits for room", got)
		}
		for i := range 9 {
			h.commit <- nil
			if got, want := string(c.receive()[2:]), string(rune('a'+i)); got != want {
				t.Fatalf("answer %d: got %q, want %q", i, got, want)
			}
		}
		if got := c.receive(); got[1] != 3 {
			t.Errorf("got %x, want the other request's answer", got)
		}
	})
	if got := h.released.Load(); got != 11 {
		t.Errorf("got %d payloads released, want 11", got)
	}
}

// TestOtherRequestsWaitForOutstandingAnswers: they are not even served.
func TestOtherRequestsWaitForOutstandingAnswers(t *testing.T) {
	h := newCommitting()
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		h.commit = make(chan error)
		c := r.pipe()
		c.send(produceFrame("first"))
		h.commit <- nil
		c.receive()
		c.send(produceFrame("second"))
		c.send(framed([]byte{0, 3}))
		synctest.Wait()
		if got := h.served.Load(); got != 2 {
			t.Errorf("got %d served, want 2", got)
		}
		h.commit <- nil
		c.receive()
		if got := c.receive(); got[1] != 3 {
			t.Errorf("got %x", got)
		}
	})
}

func TestFailedCommitClosesTheConnection(t *testing.T) {
	h := newCommitting()
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		h.commit = make(chan error)
		c := r.pipe()
		c.send(produceFrame("first"))
		h.commit <- nil
		c.receive()
		for range 3 {
			c.send(produceFrame("next"))
		}
		h.commit <- errors.New("the log is broken")
		c.closed()
		synctest.Wait()
		if got := h.released.Load(); got != 4 {
			t.Errorf("got %d payloads released, want 4", got)
		}
		if used, _ := r.memory.members(); used != 0 {
			t.Errorf("got %d bytes still taken", used)
		}
	})
}

// TestMuteOfAnOutstandingAnswer: it begins when that answer has gone out.
func TestMuteOfAnOutstandingAnswer(t *testing.T) {
	h := newCommitting()
	commit := h.serve
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		h.commit = make(chan error)
		m := newMute(time.Minute)
		h.serve = func(ctx context.Context, r *Request) (Answer, error) {
			a, err := commit(ctx, r)
			if string(r.Frame[2:]) == "mute" {
				a.Mute = m
			}
			return a, err
		}
		c := r.pipe()
		c.send(produceFrame("first"))
		h.commit <- nil
		c.receive()
		c.send(produceFrame("second"))
		c.send(produceFrame("mute"))
		for _, want := range []string{"second", "mute"} {
			h.commit <- nil
			if got := string(c.receive()[2:]); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		began := time.Now()
		c.send(framed([]byte{0, 3}))
		if took := time.Since(began); took != time.Minute {
			t.Errorf("read again after %v", took)
		}
		c.receive()
	})
}
