package server

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
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
// for at least as long as consumers in general do, but for that of who has the seat, and
// then end little by little: each that goes on is work.
func TestRecallAmongEquals(t *testing.T) {
	var p parkers
	bubble(t, testOptions(), p.handler(), func(t *testing.T, r *rig) {
		p.park(r, "mallory", 400)
		if _, waiting := r.memory.members(); waiting == 0 {
			t.Fatal("there is memory for all")
		}
		time.Sleep(recallAfter)
		synctest.Wait()
		before := p.others.Load()
		if looks := int32(recallAfter / hurryEvery); before > looks {
			t.Errorf("%d ended within %v, want one at each of %d looks", before, recallAfter, looks)
		}
		time.Sleep(4 * hurryEvery)
		synctest.Wait()
		each := int32(recallOld/parkedBytes + 1)
		if n := p.others.Load() - before; n < 3*each || n > 4*(each+1) {
			t.Errorf("%d ended in four looks, want %d in each, and the seated one", n, each)
		}
	})
}

// TestRecallFromWhoHoldsMore: somebody who waits for memory has it soon from one who holds
// more, and until they hold as much as each other; then they do not end each other, but
// for who has the seat.
func TestRecallFromWhoHoldsMore(t *testing.T) {
	var p parkers
	bubble(t, testOptions(), p.handler(), func(t *testing.T, r *rig) {
		all := int(r.memory.questions.limit / parkedBytes)
		p.park(r, "mallory", 2*all)
		p.park(r, "alice", 2*all)
		time.Sleep(hurryEvery)
		synctest.Wait()
		each := recallUnfair/parkedBytes + 1
		if n := int(p.others.Load()); n < each-1 || n > each+1 {
			t.Errorf("%d ended at the first look, want %d, and the seated one", n, each)
		}
		time.Sleep(recallAfter - 2*hurryEvery)
		synctest.Wait()
		looks := int(recallAfter / hurryEvery)
		if n, alices := int(p.others.Load()), int(p.alice.Load()); n < all/2-each || n > all/2+looks*each/2 || alices > looks*each/2 {
			t.Errorf("%d of %d of who held all have ended, and %d of who held nothing, want half and few", n, all, alices)
		}
	})
}

// TestRecallFromTheSeat: beside requests of the same one that wait for half a minute, and
// come again as soon as they are answered, a large one waits for a second or two.
func TestRecallFromTheSeat(t *testing.T) {
	h := &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		if r.Frame[1] == byte(kafka.KeyFetch) {
			parked, resume := r.Park(ctx)
			defer resume()
			select {
			case <-parked.Done():
			case <-time.After(30 * time.Second):
			}
		}
		return reply(nil), nil
	}}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		fetch := framed(append([]byte{0, byte(kafka.KeyFetch)}, make([]byte, parkedSize-2)...))
		for range 500 {
			c := r.pipe()
			go func() {
				for {
					if _, err := c.Write(fetch); err != nil {
						return
					}
					if _, err := readFrame(c); err != nil {
						return
					}
				}
			}()
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		c := r.pipe()
		go c.Write(framed(append([]byte{0, byte(kafka.KeyMetadata)}, make([]byte, 200<<10)...)))
		if _, err := readFrame(c); err != nil || time.Since(began) > 2*recallAfter {
			t.Errorf("a question of 200 KiB took %v: %v", time.Since(began), err)
		}
	})
}

// crammed is a pool of which owners hold loans of the same size each, and all of it.
func crammed(owners, loans int) (*memory, []*pause) {
	const size = 16 << 10
	m := newMemory(int64(owners * loans * size))
	var all []*pause
	for i := range owners {
		for range loans {
			l := &loan{owner: owner{name: fmt.Sprint("hog ", i)}}
			m.tryTake(l, size)
			all = append(all, &pause{since: time.Now(), lender: m, loan: l, holder: l.holder, holds: size})
		}
	}
	m.tryTake(&loan{owner: owner{name: "seated"}}, size)
	return m, all
}

// recalled is how many bytes a look takes.
func recalled(m *memory, all []*pause) (bytes int64) {
	r := m.recall(time.Now())
	for _, p := range all {
		if r.wants(p) {
			bytes += p.holds
		}
	}
	return bytes
}

// TestRecallForThePoorest: that somebody waits for more than anybody may hold keeps
// nothing from who waits for little.
func TestRecallForThePoorest(t *testing.T) {
	m, all := crammed(1, 100)
	m.tryTake(&loan{owner: owner{name: "frank"}}, m.limit)
	if got := recalled(m, all); got != 0 {
		t.Errorf("%d bytes are taken from one for another who will hold more", got)
	}
	m.tryTake(&loan{owner: owner{name: "alice"}}, kib)
	if got := recalled(m, all); got != recallUnfair {
		t.Errorf("%d bytes are taken, want %d", got, recallUnfair)
	}
}

// TestRecallUntilEqual: at one look no more is taken from somebody than leaves as much as
// the other one will hold.
func TestRecallUntilEqual(t *testing.T) {
	m, all := crammed(1, 10)
	m.tryTake(&loan{owner: owner{name: "alice"}}, 48*kib)
	if got, want := recalled(m, all), m.limit-48*kib; got != want {
		t.Errorf("%d bytes are taken of %d, want %d", got, m.limit, want)
	}
}

// TestRecallFromMany: whoever holds more gives some back, however many there are.
func TestRecallFromMany(t *testing.T) {
	m, all := crammed(100, 2)
	m.tryTake(&loan{owner: owner{name: "alice"}}, kib)
	if got := recalled(m, all); got != recallUnfair {
		t.Errorf("%d bytes are taken, want %d", got, recallUnfair)
	}
	m, all = crammed(100, 1)
	m.tryTake(&loan{owner: owner{name: "alice"}}, 16*kib)
	if got := recalled(m, all); got != 0 {
		t.Errorf("%d bytes are taken from those who hold no more", got)
	}
}
