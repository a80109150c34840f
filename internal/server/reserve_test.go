package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// TestReserve: what a request reserves is taken of the pool, whatever its frame is in,
// before its answer is made, and goes back with it.
func TestReserve(t *testing.T) {
	for name, size := range map[string]int{"in the read buffer": 8, "small": 2 << 10, "counted": 100 << 10} {
		t.Run(name, func(t *testing.T) {
			const each = 4 << 20
			ask := make([]byte, size)
			ask[1] = byte(kafka.KeyMetadata)
			var made atomic.Int64
			h := &handler{serve: func(_ context.Context, r *Request) (Answer, error) {
				if err := r.Reserve(each); err != nil {
					return Answer{}, err
				}
				made.Add(1)
				return reply(make([]byte, 300<<10)), nil
			}}
			bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
				const many = 40
				for range many {
					go r.pipe().Write(framed(ask))
				}
				synctest.Wait()
				used, waiting := r.memory.members()
				if used > r.memory.questions.limit || waiting == 0 || made.Load() > 8 {
					t.Errorf("%d bytes used of %d, %d wait, %d answers were made", used, r.memory.questions.limit, waiting, made.Load())
				}
				began := time.Now()
				c := r.pipe()
				c.send(framed(ask))
				if got := len(c.receive()); got != 300<<10 {
					t.Errorf("got %d bytes", got)
				}
				if took := time.Since(began); took > many*takenIn {
					t.Errorf("an answer behind %d that nobody takes took %v", many, took)
				}
				r.end()
				if used, waiting := r.memory.members(); used != 0 || waiting != 0 {
					t.Errorf("%d bytes are used and %d wait in the end", used, waiting)
				}
			})
		})
	}
}

// TestReserveMoreThanThereIs: one answer at a time may be larger than the pool.
func TestReserveMoreThanThereIs(t *testing.T) {
	h := &handler{serve: func(_ context.Context, r *Request) (Answer, error) {
		err := r.Reserve(1 << 30)
		return reply(r.Frame), err
	}}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		for range 3 {
			c := r.pipe()
			c.send(framed([]byte("abcdefgh")))
			if got := string(c.receive()); got != "abcdefgh" {
				t.Errorf("got %q", got)
			}
		}
	})
}

// TestWhoLeftWhileItWaitedIsNotServed: memory that is there at last is for those who
// still are.
func TestWhoLeftWhileItWaitedIsNotServed(t *testing.T) {
	for name, leave := range leaving {
		t.Run(name, func(t *testing.T) {
			got := make(chan error, 1)
			h := &handler{serve: func(_ context.Context, r *Request) (Answer, error) {
				err := r.Reserve(1 << 20)
				got <- err
				return reply(r.Frame), err
			}}
			r := start(t, testOptions(), h)
			m := r.memory.questions
			var seated loan
			m.tryTake(&seated, m.limit+1) // is outside the pool
			full := make([]loan, m.limit/m.share)
			for i := range full {
				m.tryTake(&full[i], m.share)
			}
			c := r.dial()
			c.send(framed([]byte("\x00\x03efgh")))
			eventually(t, "the request waits", func() bool { _, waiting := m.state(); return waiting == 1 })
			served := r.connections()[0]
			leave(t, c)
			eventually(t, "the peer is seen to be gone", served.peerGone)
			m.give(&full[0])
			if err := <-got; !errors.Is(err, errGone) {
				t.Errorf("it goes on with %v, want %v", err, errGone)
			}
		})
	}
}
