package auth

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestTries(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const host, other = "10.0.0.7", "10.0.0.8"
	tries := NewTries(AddressTries)
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
	tries.Succeed(host, "alice", later)
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
	tries := NewTries(AddressTries)
	for i := range AddressTries {
		tries.Fail("2001:db8::1", fmt.Sprintf("user-%d", i), now)
	}
	tries.Succeed("2001:db8::1", "user-0", now)
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
	if got, want := tries.Wait("2001:db8::1", "another", now), triesWindow/AddressTries; got != want {
		t.Errorf("waits %v, want %v", got, want)
	}
}

// Failures that come although nothing more is looked at, as tokens that are no proof
// do, hold back nobody for longer.
func TestFailuresDoNotPileUp(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries(AddressTries)
	tries.Succeed("10.0.0.7", "friend", now)
	for range 10 * AddressTries {
		tries.Fail("10.0.0.7", "friend", now)
		tries.Fail("10.0.0.7", "stranger", now)
		tries.Refuse("10.0.0.7", "another", now)
	}
	for _, name := range []string{"friend", "stranger", "another"} {
		if got, want := tries.Wait("10.0.0.7", name, now), triesWindow/userTries; got != want {
			t.Errorf("%s waits %v, want %v", name, got, want)
		}
	}
}

// The table does not grow with the addresses, and keeps who has failed most.
func TestTriesAreBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries(AddressTries)
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
	tries := NewTries(AddressTries)
	for i, want := range []bool{true, false, false} {
		if _, tell, _ := tries.Fail("10.0.0.7", "alice", now.Add(time.Duration(i)*time.Second)); tell != want {
			t.Errorf("failure %d is told: %v", i, tell)
		}
	}
	if tell, untold := tries.Refuse("10.0.0.7", "alice", now.Add(tellEvery)); !tell || untold != 2 {
		t.Errorf("told %v, with %d before", tell, untold)
	}
	if tell, untold := tries.Refuse("10.0.0.7", "alice", now.Add(2*tellEvery)); !tell || untold != 0 {
		t.Errorf("later told %v, with %d before", tell, untold)
	}
}

// crowd makes an address fail until it is held back.
func crowd(t *testing.T, tries *Tries, host string, now time.Time) {
	t.Helper()
	for i := range AddressTries {
		if wait, _, _ := tries.Fail(host, fmt.Sprintf("user-%d", i), now); wait != 0 {
			t.Fatalf("failure %d: the address is held back for %v", i, wait)
		}
	}
	if tries.Held(host, now) != triesWindow/AddressTries {
		t.Fatalf("held back for %v", tries.Held(host, now))
	}
}

// Who has logged in from an address goes on there while others fail, and is held
// by failures of the own name alone.
func TestFriendsGoOn(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries(AddressTries)
	tries.Succeed("2001:db8::1", "alice", now)
	crowd(t, tries, "2001:db8::2", now)
	for _, c := range []struct {
		host, user string
		after      time.Duration
		held       bool
	}{
		{"2001:db8::3", "alice", 0, false}, {"2001:db8::3", "bob", 0, true}, {"2001:db8:0:1::", "bob", 0, false},
	} {
		if wait := tries.Wait(c.host, c.user, now.Add(c.after)); (wait > 0) != c.held {
			t.Errorf("%s at %s waits %v", c.user, c.host, wait)
		}
	}
	for range userTries {
		if wait := tries.Wait("2001:db8::3", "alice", now); wait != 0 {
			t.Fatalf("alice waits %v", wait)
		}
		if wait, _, _ := tries.Fail("2001:db8::3", "alice", now); wait == 0 {
			t.Fatal("a failure is told from one that is refused unseen")
		}
	}
	if wait := tries.Wait("2001:db8::1", "alice", now); wait != triesWindow/userTries {
		t.Errorf("after %d failures alice waits %v", userTries, wait)
	}
	tries.Succeed("2001:db8::1", "alice", now.Add(time.Hour))
	later := now.Add(friendship + time.Second)
	crowd(t, tries, "2001:db8::2", later)
	if wait := tries.Wait("2001:db8::1", "alice", later); wait != 0 {
		t.Errorf("a day after her first log-in alice waits %v", wait)
	}
	later = later.Add(time.Hour)
	crowd(t, tries, "2001:db8::2", later)
	if tries.Wait("2001:db8::1", "alice", later) == 0 {
		t.Error("alice is known for ever")
	}
}

// A friend's log-ins forget the failures of the name, but do not let somebody else
// guess its password for ever.
func TestFriendsAreNoLever(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries(0)
	guesses := 0
	for range 10 * friendTries {
		tries.Succeed("10.0.0.7", "alice", now)
		for tries.Wait("10.0.0.7", "alice", now) == 0 && guesses < 10*friendTries {
			tries.Fail("10.0.0.7", "alice", now)
			guesses++
		}
	}
	if guesses != friendTries {
		t.Errorf("%d guesses in a moment, want %d", guesses, friendTries)
	}
}

// What one name does at an address that is held back cannot be seen by another's
// log-ins: friends weigh as much as strangers.
func TestFriendsWeighAsStrangers(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var waits [2][]time.Duration
	for i, name := range []string{"friend", "stranger"} {
		tries := NewTries(AddressTries)
		tries.Succeed("10.0.0.7", "friend", now)
		crowd(t, tries, "10.0.0.7", now)
		for range userTries / 2 {
			if tries.Wait("10.0.0.7", name, now) > 0 {
				tries.Refuse("10.0.0.7", name, now)
			} else {
				tries.Fail("10.0.0.7", name, now)
			}
		}
		for _, later := range []time.Duration{0, time.Second, 10 * time.Second, 29 * time.Second} {
			at := now.Add(later)
			waits[i] = append(waits[i], tries.Held("10.0.0.7", at), tries.failed[mustKey(tries, name)].wait(userTries, at))
		}
	}
	if !slices.Equal(waits[0], waits[1]) {
		t.Errorf("a friend leaves %v, a stranger %v", waits[0], waits[1])
	}
}

func mustKey(t *Tries, user string) tried {
	_, own, _ := t.keys("10.0.0.7", user)
	return own
}

// Friends are kept apart from failures, and do not become more and more; of a few
// the one is forgotten who has been away longest.
func TestFriendsAreBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries(AddressTries)
	tries.Succeed("10.0.0.7", "alice", now.Add(time.Minute))
	crowd(t, tries, "10.0.0.7", now)
	for i := range 3 * maxFriends {
		tries.Succeed(fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&0xff, i&0xff), "mallory", now)
	}
	for i := range 3 * maxTried {
		tries.Fail(fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&0xff, i&0xff), "mallory", now)
	}
	if got := len(tries.friends); got != maxFriends {
		t.Errorf("%d are remembered, want %d", got, maxFriends)
	}
	if tries.Held("10.0.0.7", now) == 0 {
		t.Error("who failed most was forgotten")
	}
	if wait := tries.Wait("10.0.0.7", "alice", now); wait != 0 {
		t.Errorf("alice was forgotten, and waits %v", wait)
	}
}

// Without a limit for addresses there is still that of names.
func TestNoLimitOfAddresses(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tries := NewTries(0)
	for i := range 10 * AddressTries {
		tries.Fail("10.0.0.7", fmt.Sprintf("user-%d", i), now)
	}
	for range userTries {
		if wait := tries.Wait("10.0.0.7", "alice", now); wait != 0 {
			t.Fatalf("waits %v", wait)
		}
		tries.Fail("10.0.0.7", "alice", now)
	}
	if tries.Wait("10.0.0.7", "alice", now) == 0 {
		t.Error("a name can be guessed at without an end")
	}
}
