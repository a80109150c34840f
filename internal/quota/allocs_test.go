package quota

import (
	"testing"
	"time"

	"kaasd/internal/kafka"
)

// TestChargesAllocateNothing holds the way of every request, at each level and where
// nobody is limited: looking up the buckets, and being judged.
func TestChargesAllocateNothing(t *testing.T) {
	for _, entity := range append(levelEntities, "user=somebody else") {
		e := newKafka()
		now := e.clock.start.Add(time.Minute)
		for _, key := range keyOf {
			giveAt(t, e, now, entity, key, 1e9)
		}
		c := e.Client("u", "c")
		for what, f := range map[string]func(){
			"a charge": func() { c.Charge(Produce, 1000, now) },
			"a fetch":  func() { c.Take(Fetch, 1000, now).Settle(500, now) },
			"work":     func() { c.Work(time.Microsecond, now) },
			"mutation": func() { c.Mutate(1, true, now) },
			"a charge after a change": func() {
				e.generation.Add(1)
				c.Charge(Produce, 1000, now)
			},
			"joining": func() { c.Join(Produce, now) },
		} {
			if n := testing.AllocsPerRun(100, f); n != 0 {
				t.Errorf("%s by %s makes %v allocations", what, entity, n)
			}
		}
	}
	e := newKafka()
	give(t, e, "ip", kafka.ConnectionCreationRate, 1e9)
	e.Admit("L", peer, time.Now())
	if n := testing.AllocsPerRun(100, func() { e.Admit("L", peer, time.Now()) }); n > 1 { // its name
		t.Errorf("a connection makes %v allocations", n)
	}
}
