package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"kaasd/internal/codec/message"

	"github.com/google/go-cmp/cmp"
)

// account is a full bucket with a limit, of which produce requests take.
type account struct {
	limit float64 // bytes per second
	empty time.Duration
}

func (b *account) charge(now time.Duration, bytes int) time.Duration {
	b.empty = max(b.empty, now-time.Second) + time.Duration(float64(bytes)/b.limit*1e9)
	return max(b.empty-now, 0).Truncate(time.Millisecond)
}

// saturate is what connections get that ask for so many bytes each as often as they
// may; stalled is how long an answer waits before it is seen.
func (b *account) saturate(connections, bytes int, duration time.Duration, stalled func(now time.Duration) time.Duration) []entry {
	var entries []entry
	next := make([]time.Duration, connections)
	for now := time.Duration(0); now < duration; now += 50 * time.Microsecond {
		for c := range next {
			if next[c] > now {
				continue
			}
			throttle, at := b.charge(now, bytes), now+stalled(now)
			next[c] = at + throttle + 50*time.Microsecond
			entries = append(entries, entry{connection: c, sent: now, at: at, throttle: throttle, owed: throttle, charged: bytes})
		}
	}
	return entries
}

// TestBooksHoldTheLimit: what obeys a bucket measures as its limit, whatever
// the number of connections and the size of requests.
func TestBooksHoldTheLimit(t *testing.T) {
	for _, connections := range []int{1, 20, 100} {
		for _, bytes := range []int{1000, 64 << 10, 1 << 20} {
			b := &account{limit: 1e7, empty: -time.Second}
			entries := b.saturate(connections, bytes, 20*time.Second, func(time.Duration) time.Duration { return 0 })
			r, err := settle(entries, connections, 1e7, time.Second)
			if err := muted(entries, connections); err != nil {
				t.Error(err)
			}
			if err != nil || math.Abs(r.ErrorPercent) > 0.05 || math.Abs(r.BooksPercent) > 0.05 {
				t.Errorf("%d connections, %d bytes: got %v, books %v, %v", connections, bytes, r.ErrorPercent, r.BooksPercent, err)
			}
		}
	}
}

// TestBooksForgiveStalls: answers that a busy machine hands over late, up to 200 ms
// of each second and at the end too, do not change what is measured, and a limit
// that is missed by 2 % is found out all the same.
func TestBooksForgiveStalls(t *testing.T) {
	for _, connections := range []int{1, 20, 100} {
		for _, off := range []float64{0, 2} {
			b := &account{limit: 1e7 * (1 + off/100), empty: -time.Second}
			entries := b.saturate(connections, 1<<20/connections, 5*time.Second, func(now time.Duration) time.Duration {
				if late := now % time.Second; late >= 800*time.Millisecond {
					return time.Second - late
				}
				return 0
			})
			r, err := settle(entries, connections, 1e7, time.Second)
			if err != nil || math.Abs(r.ErrorPercent-off) > 0.5 || off == 0 && math.Abs(r.BooksPercent) > 0.2 {
				t.Errorf("%d connections, %v %% off: got %v, books %v, %v", connections, off, r.ErrorPercent, r.BooksPercent, err)
			}
		}
	}
}

// TestBooksTellABurst: a bucket that held more than it should is found out, though
// its rate is right; one whose first answer was late is not.
func TestBooksTellABurst(t *testing.T) {
	for late, want := range map[time.Duration]float64{0: 10, 999 * time.Millisecond: 0.01} {
		b := &account{limit: 1e7, empty: -time.Second}
		var entries []entry
		for now := time.Second - time.Millisecond; now < 10*time.Second; {
			throttle := b.charge(now, 1<<20)
			entries = append(entries, entry{sent: now - late, at: now, throttle: throttle, owed: throttle, charged: 1 << 20})
			now, late = now+throttle+time.Microsecond, 0
		}
		r, err := settle(entries, 1, 1e7, 0)
		if err != nil || math.Abs(r.ErrorPercent) > 0.05 {
			t.Fatalf("got a rate off by %v, %v", r.ErrorPercent, err)
		}
		burst := time.Millisecond // less than there was
		if late > 0 {
			burst = time.Second - late
		}
		if r, _ = settle(entries, 1, 1e7, burst); math.Abs(r.BooksPercent-want) > want {
			t.Errorf("got books %v %% off, want about %v", r.BooksPercent, want)
		}
	}
}

func TestBooksNeedThrottles(t *testing.T) {
	entries := []entry{{connection: 0, at: 1, throttle: 5, owed: 5, charged: 1}, {connection: 1, at: 2, charged: 1}}
	_, err := settle(entries, 3, 1, 0)
	if err == nil || err.Error() != "2 of 3 connections were never throttled" {
		t.Errorf("got %v", err)
	}
	if _, err := settle(entries[:1], 1, 1, 0); err == nil || !strings.Contains(err.Error(), "too few answers") {
		t.Errorf("got %v", err)
	}
}

// TestBooksNeedMutes: a broker that announces throttles and reads on anyway
// does not pass, however well its announcements add up.
func TestBooksNeedMutes(t *testing.T) {
	b := &account{limit: 1e7, empty: -time.Second}
	var entries []entry
	for now := time.Duration(0); now < 8*time.Second; now += 10 * time.Millisecond {
		throttle := b.charge(now, 1<<20)
		entries = append(entries, entry{at: now, throttle: throttle, owed: throttle, charged: 1 << 20})
	}
	if err := muted(entries, 1); err == nil || !strings.Contains(err.Error(), "does not mute") {
		t.Errorf("got %v", err)
	}
}

func TestBooksWithoutLimit(t *testing.T) {
	r, err := settle([]entry{{at: time.Second, charged: 10}, {at: 2 * time.Second, charged: 10}, {at: 3 * time.Second, charged: 30}}, 1, 0, 0)
	if err != nil || r.Rate != 20 || r.ChargedBytes != 40 {
		t.Errorf("got %+v, %v, want 40 bytes at 20 per second", r, err)
	}
}

func TestEmptyAnswersAreNotCharged(t *testing.T) {
	r, err := settle([]entry{
		{at: 0, throttle: 500 * time.Millisecond, charged: 5},
		{at: time.Second, throttle: time.Second},
		{at: 2 * time.Second, charged: 10},
	}, 1, 5, 0)
	if err != nil || r.Rate != 5 || r.Throttled != 2 {
		t.Errorf("got %+v, %v, want 5 bytes per second and 2 throttled", r, err)
	}
}

func TestFlags(t *testing.T) {
	_, err := parse(strings.Fields("--mode eat --connections 0 --bytes 1 --acks 0 --mechanism NTLM --limit -1"))
	if err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("got %v, want six faults at once", err)
	}
	if _, err := parse(strings.Fields("--mode raise --limit 5")); err == nil || !strings.Contains(err.Error(), "--entity") {
		t.Errorf("got %v, want an entity to be asked for", err)
	}
	alice := "alice"
	if o, err := parse(strings.Fields("--mode raise --entity user=alice,client-id")); err != nil ||
		!cmp.Equal(o.entity, []message.AlterClientQuotasEntity{{EntityType: "user", EntityName: &alice}, {EntityType: "client-id"}}) {
		t.Errorf("got %+v, %v, want alice with the default of client-ids", o.entity, err)
	}
	if o, err := parse(strings.Fields("--mode fetch --limit 1e7")); err != nil || o.limit != 1e7 {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestClients(t *testing.T) {
	o, err := parse(strings.Fields("--bucket alice/c1,alice/,alice --bucket /c2-*"))
	want := []bucket{
		{"alice/c1,alice/,alice", []client{{user: "alice", id: "c1"}, {user: "alice"}, {user: "alice", noID: true}}},
		{"/c2-*", []client{{id: "c2-*"}}},
	}
	if diff := cmp.Diff(want, o.buckets, cmp.AllowUnexported(bucket{}, client{})); err != nil || diff != "" {
		t.Errorf("got %v, -want +got:\n%s", err, diff)
	}
	if got := o.buckets[1].clients[0].one(7); got != (client{id: "c2-7"}) {
		t.Errorf("got %+v for the seventh connection", got)
	}
	if o.admin != want[0].clients[0] {
		t.Errorf("got %+v for admin, want the first client", o.admin)
	}
}

// TestDoors: what passes is the burst and the rate, no more and no less.
func TestDoors(t *testing.T) {
	attempts := make([]attempt, 30)
	for i := range attempts {
		attempts[i] = attempt{at: time.Unix(0, 0).Add(time.Duration(i) * 100 * time.Millisecond), answered: i < 10 || i%10 == 0, held: time.Second}
	}
	d := count(attempts, 1, 10*time.Second)
	if want := (doors{Passed: 12, Refused: 18, Least: 11.9, Most: 13, Served: 3, HeldMin: 1, HeldMax: 1}); d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
	for passed, good := range map[int]bool{10: false, 11: true, 14: true, 15: false} {
		d.Passed = passed
		if err := d.judge(1); (err == nil) != good {
			t.Errorf("%d passed: got %v", passed, err)
		}
	}
	if d := count(attempts[:12], 1, time.Minute); d.Least != 12 {
		t.Errorf("12 attempts, and %v must pass", d.Least)
	}
	if err := d.judge(0); err == nil {
		t.Error("refused connections without a limit are no fault")
	}
}
