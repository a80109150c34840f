package auth

import (
	"fmt"
	"testing"
	"time"
)

func TestTries(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const host, other = "10.0.0.7", "10.0.0.8"
	tries := NewTries()
	for i := range userTries {
		if wait := tries.Wait(host, "alice", now); wait != 0 {
			t.Fatalf("try %d waits %v", i, wait)
		}
		tries.Fail(host, "alice", now)
	}
	if got, want := tries.Wait(host, "alice", now), triesWindow/userTries; got != want {
		t.Errorf("after %d failures the next try waits %v, want %v", userTries, got, want)
	}
	for _, c := range []struct{ host, user string }{{host, "bob"}, {other, "alice"}, {"not an address", "alice"}} {
		if wait := tries.Wait(c.host, c.user, now); wait != 0 {
			t.Errorf("%s at %s waits %v", c.user, c.host, wait)
		}
	}
	if tries.Wait("::ffff:"+host, "alice", now) == 0 || tries.Wait("::ffff:"+other, "alice", now) != 0 {
		t.Error("an IPv4 address in the form of IPv6 is another address")
	}
	later := now.Add(triesWindow / userTries)
	if wait := tries.Wait(host, "alice", later); wait != 0 {
		t.Errorf("a try has come back, and the wait is %v", wait)
	}
	tries.Fail(host, "alice", later)
	if tries.Wait(host, "alice", later) == 0 {
		t.Error("one try has come back, and there were two")
	}
	tries.Succeed(host, "alice")
	if wait := tries.Wait(host, "alice", later); wait != 0 {
		t.Errorf("after a success the wait is %v", wait)
	}
	if wait := tries.Wait(host, "alice", now.Add(2*triesWindow)); wait != 0 {
		t.Errorf("after two minutes the wait is %v", wait)
	}
}

// An address that tries many names is held back as a whole, and a success does
// not change that.
func TestTriesOfAnAddress(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries()
	for i := range addressTries {
		tries.Fail("2001:db8::1", fmt.Sprintf("user-%d", i), now)
	}
	tries.Succeed("2001:db8::1", "user-0")
	for _, host := range []string{"2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:0:1::"} {
		if tries.Wait(host, "another", now) == 0 {
			t.Errorf("%s may go on", host)
		}
	}
	for _, host := range []string{"2001:db8:0:1::1", "::1"} {
		if wait := tries.Wait(host, "another", now); wait != 0 {
			t.Errorf("%s waits %v", host, wait)
		}
	}
	if got, want := tries.Wait("2001:db8::1", "another", now), triesWindow/addressTries; got != want {
		t.Errorf("waits %v, want %v", got, want)
	}
}

// The table does not grow with the addresses, and keeps who has failed most.
func TestTriesAreBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries()
	for range userTries {
		tries.Fail("10.0.0.7", "alice", now)
	}
	for i := range 3 * maxTried {
		tries.Fail(fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&0xff, i&0xff), "alice", now)
	}
	if got := len(tries.failed); got != maxTried {
		t.Errorf("%d are remembered, want %d", got, maxTried)
	}
	if tries.Wait("10.0.0.7", "alice", now) == 0 {
		t.Error("who failed most was forgotten")
	}
}

func TestTriesAreToldOfSeldom(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries()
	for i, want := range []bool{true, false, false} {
		if tell, _ := tries.Fail("10.0.0.7", "alice", now.Add(time.Duration(i)*time.Second)); tell != want {
			t.Errorf("failure %d is told: %v", i, tell)
		}
	}
	if tell, untold := tries.Hush("10.0.0.7", now.Add(tellEvery)); !tell || untold != 2 {
		t.Errorf("told %v, with %d before", tell, untold)
	}
}
