package quota

import (
	"testing"
	"time"

	"kaasd/internal/kafka"
)

func TestInherit(t *testing.T) {
	now := time.Now()
	debtor := func(t *testing.T) (*Enforcer, *Mute) {
		t.Helper()
		e := newEnforcer()
		e.SetBase(map[string]Limits{"alice": {kafka.ProducerByteRate: 1000}})
		mute := e.Client("alice", "").Charge(Produce, 5000, now).Mute()
		if left := mute.Remaining(now); left != 4*time.Second {
			t.Fatalf("muted for %v, want 4s", left)
		}
		return e, mute
	}
	t.Run("a mute that passed is not left behind", func(t *testing.T) {
		e, mute := debtor(t)
		mute.Remaining(now.Add(4 * time.Second))
		mute.Done()
		if m := e.Client("alice", "").Inherit(Produce, now); m != nil {
			t.Errorf("inherited %v", m.Remaining(now))
		}
	})
	t.Run("one that did not is, to one connection", func(t *testing.T) {
		e, mute := debtor(t)
		mute.Done()
		later := now.Add(time.Second)
		if m := e.Client("alice", "").Inherit(Fetch, later); m != nil {
			t.Error("a fetch inherited the mute of a produce")
		}
		m := e.Client("alice", "other").Inherit(Produce, later)
		if m == nil || m.Remaining(later) != 3*time.Second {
			t.Fatalf("inherited %v, want 3s", m)
		}
		if again := e.Client("alice", "").Inherit(Produce, later); again != nil {
			t.Error("inherited twice")
		}
		m.Done() // that one leaves, too
		if again := e.Client("alice", "").Inherit(Produce, later); again == nil {
			t.Error("not inherited from an heir that left")
		}
	})
	t.Run("nothing is left of a debt that is paid", func(t *testing.T) {
		e, mute := debtor(t)
		mute.Done()
		if m := e.Client("alice", "").Inherit(Produce, now.Add(5*time.Second)); m != nil {
			t.Errorf("inherited %v", m.Remaining(now))
		}
		mute = e.Client("alice", "").Charge(Produce, 50_000, now.Add(5*time.Second)).Mute()
		if m := e.Client("alice", "").Inherit(Produce, now.Add(5*time.Second)); m != nil {
			t.Errorf("inherited %v of a connection that is still there", m.Remaining(now))
		}
		mute.Done()
	})
	t.Run("nothing without a quota", func(t *testing.T) {
		e, mute := debtor(t)
		mute.Done()
		e.SetBase(nil)
		if m := e.Client("alice", "").Inherit(Produce, now); m != nil {
			t.Errorf("inherited %v", m.Remaining(now))
		}
	})
}
