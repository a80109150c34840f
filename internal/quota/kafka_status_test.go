package quota

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kaasd/internal/kafka"
)

// told is a resolution in a line.
func told(r Resolution) string {
	limit := "none"
	if r.Limit != nil {
		limit = fmt.Sprint(*r.Limit)
	}
	text := fmt.Sprintf("%s %s %s %s %s (%s)", r.Quota, limit, r.Unit, r.Level, r.Source, r.SharedBy)
	for _, h := range r.Hidden {
		text += fmt.Sprintf("; %g %s %s", h.Limit, h.Level, h.Source)
	}
	return text
}

// TestResolveLevels: which value applies, who shares it, and every value that
// it hides, of the file and of the levels below.
func TestResolveLevels(t *testing.T) {
	e := newKafka()
	for entity, v := range map[string]float64{
		"user=alice, client-id=c": 1, "user=alice, client-id": 2, "user=alice": 3, "user, client-id=c": 4, "user, client-id": 5,
		"user": 6, "client-id=c": 7, "client-id": 8,
	} {
		give(t, e, entity, kafka.ProducerByteRate, v)
	}
	e.SetBase(map[string]Limits{"alice": {kafka.ProducerByteRate: 33, kafka.ConsumerByteRate: 44}})
	give(t, e, "user", kafka.ControllerMutationRate, 10)
	give(t, e, "client-id=c", kafka.RequestPercentage, 50)
	check := func(user, client string, want ...string) {
		t.Helper()
		for i, r := range e.Resolve(user, client) {
			if i < len(want) && told(r) != want[i] {
				t.Errorf("%s, %s:\n got %s\nwant %s", user, client, told(r), want[i])
			}
			if !r.Enforced {
				t.Errorf("%s is not enforced", r.Quota)
			}
		}
	}
	check("alice", "c",
		"produce 1 bytes/s user+client-id override (all connections of alice with client-id c); 2 user+client-default override; 3 user override; 33 user base; "+
			"4 user-default+client-id override; 5 user-default+client-default override; 6 user-default override; 7 client-id override; 8 client-default override",
		"fetch 44 bytes/s user base (all clients of alice)",
		"request 50 percent client-id override (all clients with client-id c)",
		"mutation 10 partitions/s user-default override (all clients of alice)")
	check("bob", "c", "produce 4 bytes/s user-default+client-id override (all connections of bob with client-id c); 5 user-default+client-default override; "+
		"6 user-default override; 7 client-id override; 8 client-default override", "fetch none bytes/s none  ()")
	check("bob", "", "produce 5 bytes/s user-default+client-default override (all connections of bob without a client-id); 6 user-default override; 8 client-default override")
	if got := len(e.Resolve("alice", "c")); got != 4 {
		t.Errorf("%d keys", got)
	}
}

func TestResolveAddress(t *testing.T) {
	e := newKafka()
	for entity, v := range map[string]float64{"ip=1.2.3.4": 5, "ip=::ffff:1.2.3.4": 4, "ip": 9} {
		give(t, e, entity, kafka.ConnectionCreationRate, v)
	}
	for name, want := range map[string]string{
		"1.2.3.4":        "connection 4 connections/s ip override (all connections from 1.2.3.4); 5 ip override; 9 ip-default override",
		"::ffff:1.2.3.4": "connection 4 connections/s ip override (all connections from 1.2.3.4); 5 ip override; 9 ip-default override",
		"::1":            "connection 9 connections/s ip-default override (all connections from ::1)",
	} {
		r, err := e.ResolveAddress(name)
		if err != nil || len(r) != 1 || told(r[0]) != want {
			t.Errorf("%s: got %v (%v), want %s", name, r, err, want)
		}
	}
	if _, err := e.ResolveAddress("host"); err == nil {
		t.Error("a name is resolved")
	}
	give(t, e, "ip=1.2.3.4", kafka.ConnectionCreationRate, 0)
	give(t, e, "ip=::ffff:1.2.3.4", kafka.ConnectionCreationRate, 0)
	give(t, e, "ip", kafka.ConnectionCreationRate, 0)
	if r, _ := e.ResolveAddress("1.2.3.4"); told(r[0]) != "connection none connections/s none  ()" {
		t.Errorf("got %s", told(r[0]))
	}
}

// TestKafkaStatus: entities with a setting and owners with accounting, each
// with the limit it has and where that is from.
func TestKafkaStatus(t *testing.T) {
	e := newKafka()
	now := e.clock.start.Add(time.Minute)
	for _, s := range []struct {
		entity, key string
		v           float64
	}{
		{"user", kafka.ProducerByteRate, 1000}, {"user=alice", kafka.RequestPercentage, 50}, {"client-id=c", kafka.ConsumerByteRate, 9},
		{"ip", kafka.ConnectionCreationRate, 2}, {"ip=::1", kafka.ConnectionCreationRate, 3}, {"user, client-id=x", kafka.ControllerMutationRate, 1},
	} {
		giveAt(t, e, now, s.entity, s.key, s.v)
	}
	a := e.Client("alice", "c")
	a.Mute(a.Charge(Produce, 12_000, now))
	a.Mute(a.Work(6*1e9, now)).Done()
	e.Admit("L", peer, now)
	var got []string
	for _, s := range e.Status(now, StatusFilter{}) {
		text := strings.ReplaceAll(toJSON(t, s.Entity), "\n", "")
		for _, quota := range []string{"produce", "fetch", "request", "mutation", "connection"} {
			if q, there := s.Quotas[quota]; there && q.Limit != nil {
				text += fmt.Sprintf(" %s %g %s %s debt %g throttled %d", quota, *q.Limit, q.Unit, q.Level, q.Debt, q.ThrottledRequests)
			}
		}
		got = append(got, text)
	}
	want := []string{
		`{ "user": "alice"} produce 1000 bytes/s user-default debt 2000 throttled 1 request 50 percent user debt 100 throttled 1`,
		`{ "client_id": "c"} fetch 9 bytes/s client-id debt 0 throttled 0`,
		`{ "user_default": true} produce 1000 bytes/s user-default debt 0 throttled 0`,
		`{ "client_id": "x", "user_default": true} mutation 1 partitions/s user-default+client-id debt 0 throttled 0`,
		`{ "ip": "10.1.2.3"} connection 2 connections/s ip-default debt 0 throttled 0`,
		`{ "ip": "::1"} connection 3 connections/s ip debt 0 throttled 0`,
		`{ "ip_default": true} connection 2 connections/s ip-default debt 0 throttled 0`,
	}
	if diff := strings.Join(got, "\n"); diff != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", diff, strings.Join(want, "\n"))
	}
	ip, user := "10.1.2.3", "alice"
	if s := e.Status(now, StatusFilter{IP: &ip}); len(s) != 1 || *s[0].Entity.IP != ip {
		t.Errorf("by ip: %s", toJSON(t, s))
	}
	if s := e.Status(now, StatusFilter{User: &user, Throttled: true}); len(s) != 1 || s[0].MutedConnections != 1 {
		t.Errorf("by user: %s", toJSON(t, s))
	}
}
