package server

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ledger notes the work that a session is told of.
type ledger struct {
	handler
	mu         sync.Mutex
	read, sent []time.Duration
}

func newLedger(serve func(context.Context, *Request) (Answer, error)) *ledger {
	l := &ledger{}
	l.handler.serve = func(ctx context.Context, r *Request) (Answer, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.read = append(l.read, r.Read)
		return serve(ctx, r)
	}
	l.handler.sent = func(work time.Duration) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sent = append(l.sent, work)
	}
	return l
}

// is compares what was noted since the last time.
func (l *ledger) is(t *testing.T, read, sent []time.Duration) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.read, read) || !slices.Equal(l.sent, sent) {
		t.Errorf("got work of reads %v and writes %v, want %v and %v", l.read, l.sent, read, sent)
	}
	l.read, l.sent = nil, nil
}

func TestWorkOfReads(t *testing.T) {
	l := newLedger(echo)
	bubble(t, testOptions(), l, func(t *testing.T, r *rig) {
		c := r.pipe()
		frame := framed(make([]byte, 100))
		once := []time.Duration{mostWork(readWork, len(frame))}
		none := []time.Duration{0}

		c.send(frame) // at once, and a bubble has no time but waiting
		c.receive()
		l.is(t, none, none)

		time.Sleep(time.Minute)
		c.send(frame)
		c.receive()
		l.is(t, once, none) // a silent minute is not work

		time.Sleep(time.Minute)
		c.send(slices.Concat(frame, frame))
		c.receive()
		c.receive()
		l.is(t, []time.Duration{mostWork(readWork, 2*len(frame)), 0}, []time.Duration{0, 0})

		for _, b := range frame {
			time.Sleep(time.Second)
			c.send([]byte{b})
		}
		c.receive()
		l.is(t, []time.Duration{time.Duration(len(frame)) * mostWork(readWork, 1)}, none)
	})
}

// TestWorkOfALargeFrame: a client that takes 51 s to bring a frame is
// charged for the reads.
func TestWorkOfALargeFrame(t *testing.T) {
	l := newLedger(func(context.Context, *Request) (Answer, error) { return Answer{}, nil })
	bubble(t, testOptions(), l, func(t *testing.T, r *rig) {
		c := r.pipe()
		frame := framed(make([]byte, 1<<20))
		for part := range slices.Chunk(frame, 20<<10) {
			c.send(part)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		least, most := mostWork(52*readWork, len(frame)), mostWork(60*readWork, len(frame))
		if len(l.read) != 1 || l.read[0] < least || l.read[0] > most {
			t.Errorf("got %v, want one between %v and %v", l.read, least, most)
		}
		if len(l.sent) != 0 {
			t.Errorf("got %v for a request without an answer", l.sent)
		}
	})
}

// TestWorkOfWrites: a peer that takes its answer slowly does not pay for the
// time.
func TestWorkOfWrites(t *testing.T) {
	l := newLedger(func(context.Context, *Request) (Answer, error) {
		return Answer{Payload: parts{make([]byte, 8<<10)}, Alone: true}, nil
	})
	bubble(t, testOptions(), l, func(t *testing.T, r *rig) {
		c := r.pipe()
		size := parts{make([]byte, 8<<10)}.Size()
		c.send(framed(nil))
		for left := size; left > 0; {
			time.Sleep(time.Second)
			n, err := c.Read(make([]byte, min(left, 1000)))
			if err != nil {
				t.Fatal(err)
			}
			left -= n
		}
		l.is(t, []time.Duration{0}, []time.Duration{mostWork(writeWork, size)})
	})
}

// TestWorkOfOutstandingAnswers is told from beside Serve, one answer after the
// other, and before the end of the session.
func TestWorkOfOutstandingAnswers(t *testing.T) {
	h := newCommitting()
	var mu sync.Mutex
	sent, early := 0, 0
	h.sent = func(time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if sent++; h.ended.Load() == 0 {
			early++
		}
	}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		h.commit = make(chan error)
		c := r.pipe()
		for i := range 4 {
			c.send(produceFrame("x"))
			if i == 0 {
				h.commit <- nil
				c.receive()
			}
		}
		for range 2 {
			h.commit <- nil
			c.receive()
		}
		c.Close() // the last answer cannot be written
		h.commit <- nil
		synctest.Wait()
		if sent != 4 || early != 4 || h.ended.Load() != 1 {
			t.Errorf("got %d answers told, %d of them before the end, want 4", sent, early)
		}
	})
}
