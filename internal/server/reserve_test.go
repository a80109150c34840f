package server

import (
	"context"
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
