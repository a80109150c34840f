package server

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// waiters serves Produce at once, and has any other request wait for as long as it
// may; drop says that they drop their frames.
func waiters(drop bool) *handler {
	return &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		if isProduce(r.Frame) {
			return reply([]byte("produced")), nil
		}
		if drop {
			r.DropFrame()
			r.DropFrame()
		}
		parked, resume := r.Park(ctx)
		defer resume()
		select {
		case <-parked.Done():
			return reply([]byte("ended")), ctx.Err()
		case <-time.After(time.Hour):
			return reply([]byte("waited")), nil
		}
	}}
}

// waiting sends a request that waits, and gives its answer.
func (r *rig) waiting(size int) <-chan string {
	c, answer := r.pipe(), make(chan string, 1)
	go c.Write(framed(append([]byte{0, 1}, make([]byte, size-2)...)))
	go func() {
		body, _ := readFrame(c)
		answer <- string(body)
	}()
	return answer
}

// TestParkedRequestsGiveWay: those that hold memory end their wait when somebody
// waits for it, and only then; those that hold none do not.
func TestParkedRequestsGiveWay(t *testing.T) {
	for name, parked := range map[string]struct{ number, size int }{"large": {6, 5 << 20}, "of one piece": {300, 225 << 10}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), waiters(false), func(t *testing.T, r *rig) {
				small, alone := r.waiting(headBytes), r.waiting(200<<10)
				time.Sleep(time.Minute)
				if len(alone) > 0 {
					t.Fatal("a request was ended whose memory nobody waited for")
				}
				for range parked.number {
					r.waiting(parked.size)
				}
				synctest.Wait()
				began := time.Now()
				c := r.pipe()
				c.send(framed(make([]byte, 600<<10)))
				c.receive()
				if took := time.Since(began); took > time.Duration(parked.number)*hurryEvery || took > 2*time.Second {
					t.Errorf("a Produce beside %d parked requests of %d bytes took %v", parked.number, parked.size, took)
				}
				if got := <-alone; got != "ended" {
					t.Errorf("a request that holds memory %s", got)
				}
				if got := <-small; got != "waited" || time.Since(began) < 58*time.Minute {
					t.Errorf("a request that holds none %s for %v", got, time.Since(began))
				}
			})
		})
	}
}

// TestDropFrame: the memory is back while the request waits, and is given back once.
func TestDropFrame(t *testing.T) {
	for _, size := range []int{100, 4 << 10, 200 << 10, 600 << 10} {
		bubble(t, testOptions(), waiters(true), func(t *testing.T, r *rig) {
			c := r.pipe()
			c.send(framed(append([]byte{0, 1}, make([]byte, size)...)))
			synctest.Wait()
			if used, _ := r.memory.members(); used != 0 {
				t.Errorf("a frame of %d bytes: %d bytes are held after it was dropped", size, used)
			}
			if got := string(c.receive()); got != "waited" {
				t.Errorf("a frame of %d bytes: %s", size, got)
			}
			first, second := newBuffer(size), newBuffer(size)
			if first == second {
				t.Errorf("a frame of %d bytes: its buffer was given back twice", size)
			}
			c.send(produceFrame("next"))
			if got := string(c.receive()); got != "produced" {
				t.Errorf("after a frame of %d bytes: %s", size, got)
			}
		})
	}
}

// TestDroppedBuffersAreUsedAgain: by frames that arrive meanwhile, without harm to
// what is answered.
func TestDroppedBuffersAreUsedAgain(t *testing.T) {
	h := &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		body := bytes.Clone(r.Frame)
		r.DropFrame()
		time.Sleep(time.Second)
		return reply(body), nil
	}}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		for i := range byte(20) {
			c := r.pipe()
			all.Go(func() {
				for range 3 {
					body := bytes.Repeat([]byte{i}, 10<<10)
					c.send(framed(body))
					if !bytes.Equal(c.receive(), body) {
						t.Errorf("connection %d got another's answer", i)
					}
				}
			})
		}
		all.Wait()
	})
}
