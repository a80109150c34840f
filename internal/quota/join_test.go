package quota

import (
	"testing"
	"time"

	"kaasd/internal/kafka"
)

func TestJoin(t *testing.T) {
	const rate = 1000
	start := func(limits Limits) (*Enforcer, time.Time) {
		e := newEnforcer()
		e.SetBase(map[string]Limits{"alice": limits})
		return e, e.clock.start.Add(time.Minute)
	}
	t.Run("nobody waits without a debt", func(t *testing.T) {
		e, now := start(Limits{kafka.ProducerByteRate: rate})
		for range 10 {
			if m := e.Client("alice", "").Join(Produce, 5000, now); m != nil {
				t.Fatalf("muted for %v", m.Remaining(now))
			}
		}
	})
	t.Run("a burst may join a debt, the next ones wait for it", func(t *testing.T) {
		e, now := start(Limits{kafka.ProducerByteRate: rate})
		e.Client("alice", "").Charge(Produce, 5000, now)
		for i, want := range []bool{false, false, true, true} {
			m := e.Client("alice", "").Join(Produce, 400, now)
			if (m != nil) != want {
				t.Fatalf("connection %d muted: %t", i, m != nil)
			}
			if m != nil {
				if left := m.Remaining(now); left != 4*time.Second {
					t.Errorf("muted for %v, want 4s", left)
				}
				m.Done()
			}
		}
		now = now.Add(time.Second)
		if m := e.Client("alice", "").Join(Produce, 400, now); m != nil {
			t.Errorf("a second later muted for %v", m.Remaining(now))
		}
	})
	t.Run("who waits longer is not served with those who came first", func(t *testing.T) {
		e, now := start(Limits{kafka.ProducerByteRate: rate})
		e.Client("alice", "").Charge(Produce, 2000, now)
		e.Client("alice", "").Join(Produce, 1000, now)
		first, second := e.Client("alice", ""), e.Client("alice", "")
		one, other := first.Join(Produce, 1000, now), second.Join(Produce, 1000, now)
		now = now.Add(time.Second)
		if left := one.Remaining(now); left > 0 {
			t.Errorf("muted for %v when the debt is paid", left)
		}
		first.Charge(Produce, 3000, now)
		if left := other.Remaining(now); left != 3*time.Second {
			t.Errorf("muted for %v behind the first, want 3s", left)
		}
	})
	t.Run("a claim costs a second at most", func(t *testing.T) {
		e, now := start(Limits{kafka.ProducerByteRate: rate})
		e.Client("alice", "").Charge(Produce, 50_000, now)
		if e.Client("alice", "").Join(Produce, 100<<20, now) == nil {
			t.Error("100 MiB joined a debt")
		}
		if m := e.Client("alice", "").Join(Produce, 400, now.Add(2*time.Second)); m != nil {
			t.Errorf("two seconds later muted for %v", m.Remaining(now))
		}
	})
	t.Run("directions and users are apart", func(t *testing.T) {
		e, now := start(Limits{kafka.ProducerByteRate: rate})
		e.Client("alice", "").Charge(Produce, 50_000, now)
		if e.Client("alice", "").Join(Fetch, 5000, now) != nil || e.Client("bob", "").Join(Produce, 5000, now) != nil {
			t.Error("muted by somebody else's debt")
		}
	})
}

// A client that comes back for every request gets the rate, and no more.
func TestComingBackForEveryRequest(t *testing.T) {
	const rate, size = 1_000_000, 900_000
	e := newEnforcer()
	e.SetBase(map[string]Limits{"alice": {kafka.ProducerByteRate: rate}})
	begin := e.clock.start.Add(time.Minute)
	now, charged := begin, 0
	for now.Sub(begin) < time.Minute {
		c := e.Client("alice", "")
		if m := c.Join(Produce, size, now); m != nil {
			now = now.Add(m.Remaining(now))
			m.Done()
		}
		c.Charge(Produce, size, now)
		charged += size
		now = now.Add(time.Millisecond)
	}
	if most := int(rate*(1+now.Sub(begin).Seconds())) + 2*size; charged > most || charged < 55*rate {
		t.Errorf("%d bytes in a minute at %d a second, want at most %d", charged, rate, most)
	}
}
