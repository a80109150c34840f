package server

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// parkers serves requests that wait until their wait is ended, counted by whose they are.
type parkers struct {
	name          atomic.Value
	alice, others atomic.Int32 // ended
}

func (p *parkers) handler() *handler {
	return &handler{name: func() string { return p.name.Load().(string) }, serve: func(ctx context.Context, r *Request) (Answer, error) {
		alices := string(r.Frame[2:7]) == "alice"
		parked, resume := r.Park(ctx)
		defer resume()
		<-parked.Done()
		if alices {
			p.alice.Add(1)
		} else {
			p.others.Add(1)
		}
		return reply(nil), nil
	}}
}

// parkedSize is a frame of the requests that park, and parkedBytes what each holds.
const (
	parkedSize  = 4 << 10
	parkedBytes = parkedSize * (decodedWeight - 1)
)

// park sends so many requests that wait, of somebody.
func (p *parkers) park(r *rig, name string, number int) {
	p.name.Store(name)
	frame := append(append([]byte{0, 1}, name...), make([]byte, parkedSize)...)[:parkedSize]
	for range number {
		c := r.pipe()
		go c.Write(framed(frame))
		go io.Copy(io.Discard, c)
	}
	synctest.Wait()
}

// TestRecallAmongEquals: where the same one asks for more than there is, requests wait
// for at least as long as consumers in general do, and then end little by little: each
// that goes on is work.
func TestRecallAmongEquals(t *testing.T) {
	var p parkers
	bubble(t, testOptions(), p.handler(), func(t *testing.T, r *rig) {
		p.park(r, "mallory", 400)
		if _, waiting := r.memory.members(); waiting == 0 {
			t.Fatal("there is memory for all")
		}
		time.Sleep(recallAfter)
		synctest.Wait()
		if n := p.others.Load(); n != 0 {
			t.Errorf("%d ended within %v", n, recallAfter)
		}
		time.Sleep(4 * hurryEvery)
		synctest.Wait()
		each := int32(recallOld/parkedBytes + 1)
		if n := p.others.Load(); n < 3*each || n > 5*each {
			t.Errorf("%d ended in four looks, want %d in each", n, each)
		}
	})
}

// TestRecallFromWhoHoldsMore: somebody who waits for memory has it soon from one who holds
// more, and until they hold as much as each other; then they do not end each other.
func TestRecallFromWhoHoldsMore(t *testing.T) {
	var p parkers
	bubble(t, testOptions(), p.handler(), func(t *testing.T, r *rig) {
		limit := r.memory.questions.limit
		all := int(limit / parkedBytes)
		p.park(r, "mallory", 2*all)
		p.park(r, "alice", 2*all)
		time.Sleep(hurryEvery)
		synctest.Wait()
		each := recallUnfair/parkedBytes + 1
		if n := int(p.others.Load()); n < each-1 || n > each {
			t.Errorf("%d ended at the first look, want %d", n, each)
		}
		time.Sleep(recallAfter - 2*hurryEvery)
		synctest.Wait()
		if n := int(p.others.Load()); n < all/2-each || n > all/2+each || p.alice.Load() > 0 {
			t.Errorf("%d of %d of who held all have ended, and %d of who held nothing, want half and none", n, all, p.alice.Load())
		}
	})
}
