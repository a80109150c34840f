package server

import (
	"fmt"
	"testing"
	"time"
)

// asking is a Repeats in a test's time.
type asking struct {
	Repeats
	t   *testing.T
	now time.Time
}

// ask asks for a line after some time.
func (r *asking) ask(after time.Duration, group, subject string, suppressed int, ok bool) {
	r.t.Helper()
	r.now = r.now.Add(after)
	if n, got := r.Allow(group, subject, r.now); got != ok || n != suppressed {
		r.t.Errorf("%v %s %s: got %d, %v, want %d, %v", r.now.UTC(), group, subject, n, got, suppressed, ok)
	}
}

func newAsking(t *testing.T) *asking { return &asking{t: t, now: time.Unix(0, 0)} }

func TestRepeats(t *testing.T) {
	r := newAsking(t)
	r.ask(0, "m", "a", 0, true)
	r.ask(time.Second, "m", "a", 0, false)
	r.ask(time.Second, "m", "a", 0, false)
	r.ask(0, "n", "a", 0, true)
	r.ask(time.Second, "m", "b", 2, true)
	r.ask(7*time.Second, "m", "a", 0, true)
	r.ask(0, "m", "b", 0, false)
	r.ask(repeatEvery, "m", "b", 1, true)
}

// TestRepeatsOfOneGroup: who is the subject of very many lines silences those alone,
// whichever way it is asked; what was not logged is told in the end.
func TestRepeatsOfOneGroup(t *testing.T) {
	r := newAsking(t)
	const calls = 1000
	logged := 0
	for i := range calls {
		if i%2 == 0 && r.Full("loud", r.now) {
			continue
		}
		if _, ok := r.Allow("loud", fmt.Sprint(i), r.now); ok {
			logged++
		}
	}
	if logged != maxRepeats {
		t.Errorf("%d lines of one group, want %d", logged, maxRepeats)
	}
	r.ask(0, "quiet", "a", 0, true)
	if r.Full("quiet", r.now) || r.Full("another", r.now) {
		t.Error("a group is silenced by another")
	}
	r.ask(repeatEvery, "loud", "more", calls-maxRepeats, true)
}

// TestRepeatsOfManyGroups: they are bounded, and so are the lines of all; a new one is
// heard at once while there are not too many; those that are asked about are kept.
func TestRepeatsOfManyGroups(t *testing.T) {
	r := newAsking(t)
	r.ask(0, "first", "a", 0, true)
	for i := range 2 * maxGroups {
		r.ask(0, fmt.Sprint(i), "a", 0, i+1 < maxLines)
		r.ask(0, "first", "a", 0, false)
	}
	if len(r.groups) != maxGroups || r.order.Len() != maxGroups {
		t.Errorf("got %d groups remembered, %d in order, want %d", len(r.groups), r.order.Len(), maxGroups)
	}
	r.ask(repeatEvery, "first", "a", 2*maxGroups, true)
}

// TestRepeatsLookAtEachOnce: subjects are forgotten by one look at each, however often
// is asked, and what is remembered does not grow with time.
func TestRepeatsLookAtEachOnce(t *testing.T) {
	r := newAsking(t)
	logged := 0
	for range 100_000 {
		r.now = r.now.Add(time.Millisecond)
		if _, ok := r.Allow("m", fmt.Sprint(r.now.UnixNano()), r.now); ok {
			logged++
		}
		g := r.group("m")
		if len(g.logged) != len(g.seen) || len(g.seen) > maxRepeats || cap(g.logged) > 4*maxRepeats {
			t.Fatalf("%d lines in order, %d subjects, room for %d", len(g.logged), len(g.seen), cap(g.logged))
		}
	}
	if want := 10 * maxRepeats; logged != want {
		t.Errorf("%d lines in 100 s, want %d", logged, want)
	}
}

// TestNotesOfOneNetwork: the hosts of one network of IPv6 are one group.
func TestNotesOfOneNetwork(t *testing.T) {
	for host, want := range map[string]string{
		"2001:db8::1": "2001:db8::/64", "2001:db8::2:3": "2001:db8::/64", "192.0.2.7": "192.0.2.7/32",
		"::ffff:192.0.2.7": "192.0.2.7/32", "pipe": "pipe",
	} {
		if got := groupOf(host); got != want {
			t.Errorf("%s is of %s, want %s", host, got, want)
		}
	}
}
