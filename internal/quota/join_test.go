package quota

import (
	"testing"
	"time"

	"kaasd/internal/kafka"
)

// debtor is alice with a limit of 1000 B/s, owing what is charged above the
// burst.
func debtor(charged int) (*Enforcer, time.Time) {
	e := newEnforcer()
	e.SetBase(map[string]Limits{"alice": {kafka.ProducerByteRate: 1000, kafka.ConsumerByteRate: 1000}})
	now := e.clock.start.Add(time.Minute)
	e.Client("alice", "").Charge(Produce, charged, now)
	return e, now
}

func TestJoin(t *testing.T) {
	t.Run("nobody waits without a debt", func(t *testing.T) {
		e, now := debtor(1000)
		for range 10 * maxJoin {
			if m := e.Client("alice", "").Join(Produce, now); m != nil {
				t.Fatalf("muted for %v", m.Remaining(now))
			}
		}
	})
	t.Run("some may join a debt, the next ones wait for it", func(t *testing.T) {
		e, now := debtor(5000)
		for range maxJoin {
			if m := e.Client("alice", "").Join(Produce, now); m != nil {
				t.Fatalf("muted for %v", m.Remaining(now))
			}
		}
		m := e.Client("alice", "").Join(Produce, now.Add(time.Second))
		if m == nil || m.Remaining(now.Add(time.Second)) != 3*time.Second {
			t.Fatalf("got %v, want a mute of 3s", m)
		}
		e.Client("alice", "").Charge(Produce, 9000, now.Add(2*time.Second)) // of somebody else
		if left := m.Remaining(now.Add(4 * time.Second)); left > 0 {
			t.Errorf("muted for %v more: who waited is kept waiting by those who go on", left)
		}
		m.Done()
		later := now.Add(time.Minute)
		e.Client("alice", "").Join(Produce, later) // the debt is paid
		e.Client("alice", "").Charge(Produce, 5000, later)
		if m := e.Client("alice", "").Join(Produce, later); m != nil {
			t.Errorf("muted for %v by an older debt", m.Remaining(later))
		}
	})
	t.Run("directions and users are apart", func(t *testing.T) {
		e, now := debtor(5000)
		for range 2 * maxJoin {
			if e.Client("alice", "").Join(Fetch, now) != nil || e.Client("bob", "").Join(Produce, now) != nil {
				t.Fatal("muted by somebody else's debt")
			}
		}
	})
}

// A client that comes back for every request gets the rate, and no more.
func TestComingBackForEveryRequest(t *testing.T) {
	const size = 900
	e, begin := debtor(0)
	now, charged := begin, 0
	for now.Sub(begin) < 10*time.Minute {
		c := e.Client("alice", "")
		if m := c.Join(Produce, now); m != nil {
			now = now.Add(m.Remaining(now))
			m.Done()
		}
		c.Charge(Produce, size, now)
		charged += size
		now = now.Add(time.Millisecond)
	}
	took := now.Sub(begin).Seconds()
	if most := 1000*(1+took) + (maxJoin+1)*size; float64(charged) > most || float64(charged) < 990*took {
		t.Errorf("%d bytes in %.0f s at 1000 a second", charged, took)
	}
}
