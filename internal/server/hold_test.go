package server

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// A mute of Admit passes before the frame is read, within one frame and longer
// than the idle limit.
func TestHoldComesBeforeTheFrame(t *testing.T) {
	h := &handler{serve: echo}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		m := newMute(time.Hour)
		h.hold = func() Mute { return m }
		c := r.pipe()
		began := time.Now()
		large := make([]byte, 100_000)
		c.send(framed(large)) // a pipe takes nothing that is not read
		if got := c.receive(); len(got) != len(large) {
			t.Errorf("got %d bytes back, want %d", len(got), len(large))
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("served after %v, want 1h", took)
		}
		if got := m.done.Load(); got != 1 {
			t.Errorf("done %d times, want once", got)
		}
	})
}

// A client that leaves requests behind and goes is found while it is muted, and
// they are not served.
func TestMutedPeerLeavesRequestsBehind(t *testing.T) {
	m := newMute(time.Hour)
	muted := muting(m)
	var served atomic.Int32
	h := &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		served.Add(1)
		return muted.serve(ctx, r)
	}}
	r := start(t, testOptions(), h)
	c := r.dial()
	c.send(framed([]byte("mute")))
	c.receive()
	for range 3 {
		c.send(framed([]byte("left behind")))
	}
	c.Close()
	eventually(t, "the connection ends", func() bool { return h.ended.Load() == 1 })
	if served, done := served.Load(), m.done.Load(); served != 1 || done != 1 {
		t.Errorf("%d requests served and %d mutes done, want one of each", served, done)
	}
}
