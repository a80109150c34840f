package quota

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

func toJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStatusOfTheLeastQuota: what is used of it is beyond any number, and JSON has
// no infinity.
func TestStatusOfTheLeastQuota(t *testing.T) {
	e := newKafka()
	give(t, e, "client-id=c", kafka.RequestPercentage, math.SmallestNonzeroFloat64)
	now := time.Now()
	e.Client("u", "c").Work(time.Millisecond, now)
	e.sample(e.ticksOf(now), false)
	s := e.Status(now, StatusFilter{})
	if got := s[0].Quotas["request"].Utilisation; got != math.MaxFloat64 {
		t.Errorf("utilisation %g, want the largest number", got)
	}
	toJSON(t, s)
}

func TestResolve(t *testing.T) {
	e := newEnforcer()
	e.SetBase(map[string]Limits{"alice": {kafka.ProducerByteRate: 100, kafka.RequestPercentage: 5}, "bob": {kafka.ConsumerByteRate: 7}})
	alter(e, user("alice"), set(kafka.ProducerByteRate, 200), remove(kafka.RequestPercentage))
	want := `[
 {
  "quota": "produce",
  "limit": 200,
  "unit": "bytes/s",
  "level": "user",
  "source": "override",
  "shared_by": "all clients of alice",
  "enforced": true,
  "hidden": [
   {
    "limit": 100,
    "level": "user",
    "source": "base"
   }
  ]
 },
 {
  "quota": "fetch",
  "limit": null,
  "unit": "bytes/s",
  "level": "none",
  "enforced": true,
  "hidden": []
 },
 {
  "quota": "request",
  "limit": null,
  "unit": "percent",
  "level": "none",
  "enforced": false,
  "hidden": [
   {
    "limit": 5,
    "level": "user",
    "source": "base"
   }
  ]
 }
]`
	if got := toJSON(t, e.Resolve("alice", "c")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if r := e.Resolve("bob", "")[1]; *r.Limit != 7 || r.Source != "base" || len(r.Hidden) > 0 {
		t.Errorf("bob: %+v", r)
	}
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnforcer()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		e.SetBase(map[string]Limits{"alice": {kafka.ProducerByteRate: 1000, kafka.RequestPercentage: 50}, "idle": {kafka.ConsumerByteRate: 9}})
		c := e.Client("alice", "c")
		for range 30 {
			<-time.After(500 * time.Millisecond)
			c.Charge(Produce, 450, time.Now())
		}
		<-time.After(time.Millisecond)
		m := c.Mute(c.Charge(Produce, 2900, time.Now()))
		s := e.Status(time.Now(), StatusFilter{Throttled: true})
		if len(s) != 1 || *s[0].Entity.User != "alice" || s[0].Entity.ClientID != nil || s[0].Level != "user" || s[0].MutedConnections != 1 {
			t.Fatalf("got %s", toJSON(t, s))
		}
		q := s[0].Quotas["produce"]
		if q.Rate < 1100 || q.Rate > 1250 || q.Utilisation != q.Rate/1000 {
			t.Errorf("rate %g, utilisation %g", q.Rate, q.Utilisation)
		}
		if q.Requests != 31 || q.MutedConnections != 1 {
			t.Errorf("%d requests, %d muted connections, want 31 and 1", q.Requests, q.MutedConnections)
		}
		if q.Debt < 1900 || q.Debt > 2400 || q.ThrottledRequests != 1 || q.LastThrottledAt == nil || !q.LastThrottledAt.Equal(time.Now()) {
			t.Errorf("got %s", toJSON(t, q))
		}
		if q.LastThrottleMs < 1900 || q.ThrottleSeconds < 1.9 || *q.Limit != 1000 || q.Source != "base" || q.Unit != "bytes/s" {
			t.Errorf("got %s", toJSON(t, q))
		}
		if r := s[0].Quotas["request"]; *r.Limit != 50 || r.Unit != "percent" || r.Enforced {
			t.Errorf("request: %s", toJSON(t, r))
		}
		if _, there := s[0].Quotas["fetch"]; there {
			t.Error("fetch is shown without a quota")
		}
		m.Done()
		checkStatusFilters(t, e)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func checkStatusFilters(t *testing.T, e *Enforcer) {
	t.Helper()
	name := func(s string) *string { return &s }
	for _, c := range []struct {
		name   string
		filter StatusFilter
		want   int
	}{
		{"all", StatusFilter{}, 2},
		{"limit", StatusFilter{Limit: 1}, 1},
		{"user", StatusFilter{User: name("idle")}, 1},
		{"nobody", StatusFilter{User: name("nobody")}, 0},
		{"client id", StatusFilter{ClientID: name("c")}, 0},
		{"throttled", StatusFilter{Throttled: true}, 1},
	} {
		if got := e.Status(time.Now(), c.filter); len(got) != c.want {
			t.Errorf("%s: got %d entities, want %d", c.name, len(got), c.want)
		}
	}
	if got := e.Status(time.Now().Add(RateWindow), StatusFilter{Throttled: true}); len(got) != 0 {
		t.Errorf("throttled long ago: %s", toJSON(t, got))
	}
	// Accounting outlives the setting.
	e.SetBase(nil)
	s := e.Status(time.Now(), StatusFilter{})
	if len(s) != 2 || s[0].Quotas["produce"].Limit != nil || s[0].Quotas["produce"].ThrottledRequests != 1 {
		t.Errorf("without settings: %s", toJSON(t, s))
	}
	if got := toJSON(t, newEnforcer().Status(time.Now(), StatusFilter{})); got != "[]" {
		t.Errorf("nobody: %s", got)
	}
}
