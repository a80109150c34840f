package quota

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/kafka"
)

func TestKafkaRefusals(t *testing.T) {
	empty := ""
	const producer, connection = kafka.ProducerByteRate, kafka.ConnectionCreationRate
	for _, c := range []struct {
		name       string
		components []Component
		ops        []Op
		says       string
	}{
		{"V1 set twice", user("u"), []Op{set(producer, 1), set(producer, 2)}, "duplicate quota key"},
		{"V1, T11 set and removed", user("u"), []Op{set(producer, 1), remove(producer)}, "duplicate quota key"},
		{"V1 unknown, removed twice", user("u"), []Op{remove("bogus"), remove("bogus")}, "duplicate quota key bogus"},
		{"V3 no components", nil, nil, "needs a component"},
		{"V4 unknown type", parts("group=g"), nil, `unhandled entity type "group"`},
		{"V4 beside a known one", parts("user=a, group=g"), nil, `unhandled entity type "group"`},
		{"V4 capitals", parts("IP=1.2.3.4"), nil, `unhandled entity type "IP"`},
		{"V4 empty type", []Component{{}}, nil, `unhandled entity type ""`},
		{"V5, T14 empty name", []Component{{Type: "client-id", Name: &empty}}, nil, "empty client-id unsupported"},
		{"V5 empty ip", []Component{{Type: "ip", Name: &empty}}, nil, "empty ip unsupported"},
		{"V6 ip and user", parts("ip=1.2.3.4, user=u"), []Op{set(connection, 1)}, "Invalid quota entity combination"},
		{"V6 defaults", parts("ip, client-id"), nil, "Invalid quota entity combination"},
		{"V7 bad ip", parts("ip=not-an-ip!"), []Op{set(connection, 1)}, `"not-an-ip!" is not a valid IP or resolvable host`},
		{"V7 before the key", parts("ip=not a host"), []Op{set(producer, 1)}, "is not a valid IP or resolvable host"},
		{"V8, T7 unknown key", user("u"), []Op{set("bogus", 1)}, `unknown quota key "bogus"`},
		{"V8 scram mechanism", user("u"), []Op{set("SCRAM-SHA-256", 1)}, "SCRAM-SHA-256"},
		{"V8, A16 ip key on a user", user("u"), []Op{set(connection, 5)}, `quota key "connection_creation_rate" is one of addresses: users and client ids take producer_byte_rate, `},
		{"V8, A16 user key on an ip", parts("ip=1.2.3.4"), []Op{set(producer, 5)}, `quota key "producer_byte_rate" is one of users and client ids: addresses take connection_creation_rate`},
		{"V8 before the value", user("u"), []Op{set("bogus", -1)}, "bogus"},
		{"A12 good beside bad", user("u"), []Op{set(producer, 5), set("bogus", 1)}, "bogus"},
		{"V9", parts("user, client-id"), []Op{set(producer, 0)}, "above zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newKafka()
			for _, validateOnly := range []bool{true, false} {
				r := e.Alter(context.Background(), time.Now(), []Alteration{{c.components, c.ops}}, validateOnly)[0]
				if code(r.Err) != kafka.InvalidRequest || !strings.Contains(r.Err.Message, c.says) {
					t.Errorf("got %v, want 42 with %q", r.Err, c.says)
				}
				if diff := cmp.Diff(c.components, r.Components); diff != "" && len(c.components) > 0 {
					t.Errorf("echo (-want +got):\n%s", diff)
				}
			}
			if got := allDescribed(t, e, Filter{}); got != "" || len(e.accounts.all) > 0 {
				t.Errorf("stored %q, %d accounts", got, len(e.accounts.all))
			}
		})
	}
}

// TestKafkaValues is the matrix of values by key.
func TestKafkaValues(t *testing.T) {
	const above, fraction, large, finite, one = "above zero", "fraction", "too large", "finite", "at least one"
	for _, c := range []struct {
		value                  float64
		bytes, rate, connected string // "" is good
	}{
		{1, "", "", ""}, {1000, "", "", ""},
		{0, above, above, above}, {math.Copysign(0, -1), above, above, above}, {-1, above, above, above},
		{0.5, fraction, "", fraction}, {1.5, fraction, "", fraction}, {10000.5, fraction, "", fraction},
		{1e-7, one, "", one}, {1e-6, one, "", one}, {2e-6, fraction, "", fraction},
		{1000.0000005, "", "", ""}, {999.9999995, fraction, "", fraction},
		{2147483647, "", "", ""}, {2147483648, "", "", large}, {1 << 63, "", "", large},
		{math.Nextafter(1<<63, math.Inf(1)), large, "", large}, {1e300, large, "", large},
		{math.NaN(), finite, finite, finite}, {math.Inf(1), finite, finite, finite}, {math.Inf(-1), finite, finite, finite},
	} {
		for key, says := range map[string]string{
			kafka.ProducerByteRate: c.bytes, kafka.ConsumerByteRate: c.bytes,
			kafka.RequestPercentage: c.rate, kafka.ControllerMutationRate: c.rate, kafka.ConnectionCreationRate: c.connected,
		} {
			t.Run(fmt.Sprintf("%s=%g", key, c.value), func(t *testing.T) {
				e, entity := newKafka(), "client-id=c"
				if key == kafka.ConnectionCreationRate {
					entity = "ip=1.2.3.4"
				}
				r := alter(e, parts(entity), set(key, c.value))
				if says == "" {
					if r.Err != nil || r.New[key] != c.value {
						t.Errorf("got %v, stored %g", r.Err, r.New[key])
					}
				} else if code(r.Err) != kafka.InvalidRequest || !strings.Contains(r.Err.Message, says) || !strings.Contains(r.Err.Message, key) {
					t.Errorf("got %v, want 42 with %q", r.Err, says)
				}
			})
		}
	}
	if r := alter(newKafka(), parts("ip"), set(kafka.ConnectionCreationRate, 1<<31)); !strings.Contains(r.Err.Message, "32-bit") {
		t.Errorf("got %v", r.Err)
	}
	if r := alter(newKafka(), user("u"), set(kafka.ProducerByteRate, 1e300)); !strings.Contains(r.Err.Message, "64-bit") {
		t.Errorf("got %v", r.Err)
	}
}

// TestKafkaSequence is A1 to A9, the life of one pair.
func TestKafkaSequence(t *testing.T) {
	e := newKafka()
	const pair = "user=user with spaces, client-id=<default>"
	producer, consumer, request := kafka.ProducerByteRate, kafka.ConsumerByteRate, kafka.RequestPercentage
	for _, step := range []struct {
		ops  []Op
		want string
	}{
		{nil, ""},
		{[]Op{set(producer, 10000), set(consumer, 20000)}, "consumer_byte_rate=20000 producer_byte_rate=10000"},
		{[]Op{set(producer, 15000)}, "consumer_byte_rate=20000 producer_byte_rate=15000"},
		{[]Op{remove(producer)}, "consumer_byte_rate=20000"},
		{[]Op{remove(request)}, "consumer_byte_rate=20000"},
		{[]Op{remove("bogus")}, "consumer_byte_rate=20000"}, // A13, T7
		{[]Op{remove(kafka.ConnectionCreationRate)}, "consumer_byte_rate=20000"},
		{[]Op{set(producer, 5000)}, "consumer_byte_rate=20000 producer_byte_rate=5000"},
		{[]Op{set(producer, 20000), remove(consumer), set(request, 12.3)}, "producer_byte_rate=20000 request_percentage=12.3"},
	} {
		if r := alter(e, parts(pair), step.ops...); r.Err != nil {
			t.Fatalf("%v: %v", step.ops, r.Err)
		}
		want := ""
		if step.want != "" {
			want = `user "user with spaces", client-id "<default>": ` + step.want
		}
		for _, text := range []string{"", "user=user with spaces", pair} {
			if got := allDescribed(t, e, filter(text, text == pair)); got != want {
				t.Errorf("after %v: %q finds %q, want %q", step.ops, text, got, want)
			}
		}
		if got := allDescribed(t, e, filter("client-id default", false)); got != "" {
			t.Errorf("the default filter finds %q", got)
		}
	}
	before := allDescribed(t, e, Filter{})
	for _, ops := range [][]Op{
		{set(consumer, 1)}, {set(producer, 1)}, {remove(producer)}, {set(consumer, 1), remove(producer), set(request, 2)},
	} {
		r := e.Alter(context.Background(), time.Now(), []Alteration{{parts(pair), ops}}, true)
		if codes(r) != "0" || allDescribed(t, e, Filter{}) != before {
			t.Errorf("validate only: %s, then %q", codes(r), allDescribed(t, e, Filter{}))
		}
	}
	alter(e, parts(pair), remove(producer), remove(request))
	if got := allDescribed(t, e, Filter{}); got != "" || len(e.withSettings()) != 0 {
		t.Errorf("left over: %q", got)
	}
}

// withSettings are the entities that have an account with a setting.
func (e *Enforcer) withSettings() (all []kafka.Entity) {
	for _, a := range e.accounts.all {
		if a.series.named {
			all = append(all, a.owner)
		}
	}
	return all
}

// TestKafkaEntries holds T12, A11, A14, A15 and the recorded story of components
// of one type: one result for each distinct entity.
func TestKafkaEntries(t *testing.T) {
	e, producer := newKafka(), kafka.ProducerByteRate
	results := e.Alter(context.Background(), time.Now(), []Alteration{
		{parts("user=a"), []Op{set(producer, 1)}},
		{parts("user=b"), []Op{set(producer, -1)}},
		{parts("client-id=c, user"), []Op{set(producer, 3)}},
		{parts("user=d, client-id=x"), []Op{set(producer, 4)}},
		{parts("client-id=x, user=d"), []Op{set(producer, 4)}},
		{parts("user=e, user=f"), []Op{set(producer, 5)}},
		{parts("user=, user=g"), []Op{set(producer, 6)}},
		{parts("user=g, user="), []Op{set(producer, 7)}},
		{parts("user=h, client-id=y, user"), []Op{set(producer, 8)}},
		{parts("user=a, user=b"), []Op{set(producer, 9)}},
	}, false)
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprintf("%s %d", show(r.Components), code(r.Err)))
	}
	want := []string{
		`user "a" 0`, `user "b" 42`, `client-id "c", user-default 0`, `user "d", client-id "x" 42`, `user "f" 0`, `user "g" 0`,
		`user "" 42`, `user-default, client-id "y" 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	stored := strings.Join([]string{
		`user "a": producer_byte_rate=1`, `user "f": producer_byte_rate=5`, `user "g": producer_byte_rate=6`,
		`user-default, client-id "c": producer_byte_rate=3`, `user-default, client-id "y": producer_byte_rate=8`,
	}, "\n")
	if got := allDescribed(t, e, Filter{}); got != stored {
		t.Errorf("stored\n%s\nwant\n%s", got, stored)
	}
	if got := allDescribed(t, e, filter("user default, client-id=c", true)); got != `user-default, client-id "c": producer_byte_rate=3` {
		t.Errorf("A14: %q", got)
	}
}

// TestEntityOfManyComponents: as many as a request has room for are judged in one
// pass; in pairs they would take an hour, and this test would not end.
func TestEntityOfManyComponents(t *testing.T) {
	all := make([]Component, 1<<20)
	for i := range all {
		all[i].Type = strconv.Itoa(1<<24 + i)
	}
	r := alter(newKafka(), append(all, all...), set(kafka.ProducerByteRate, 1))
	if code(r.Err) != kafka.InvalidRequest || !strings.Contains(r.Err.Message, strconv.Quote(all[0].Type)) || len(r.Components) != len(all) {
		t.Errorf("got %v, with %d components", r.Err, len(r.Components))
	}
}

// TestKafkaChanges counts what a request changes: what it leaves as it is does
// not count (as recorded of Kafka), and 10,000 are the most.
func TestKafkaChanges(t *testing.T) {
	entries := func(n int) (all []Alteration) {
		for i := range n {
			all = append(all, Alteration{user(fmt.Sprint("u", i)), []Op{set(kafka.ProducerByteRate, 1), set(kafka.ControllerMutationRate, 2), remove("bogus")}})
		}
		return all
	}
	e := newKafka()
	for _, validateOnly := range []bool{true, false} {
		for _, r := range e.Alter(context.Background(), time.Now(), entries(5001), validateOnly) {
			if code(r.Err) != kafka.PolicyViolation {
				t.Fatalf("got %v, want 44", r.Err)
			}
		}
	}
	if len(e.accounts.all) != 0 {
		t.Error("something was stored")
	}
	for _, n := range []int{5000, 5001} { // the same again, and one entity more
		for _, r := range e.Alter(context.Background(), time.Now(), entries(n), false) {
			if r.Err != nil {
				t.Fatalf("%d entities: %v", n, r.Err)
			}
		}
	}
}

// TestBaseAndOverride: a value set by Alter stands before the file's, key by
// key, and what the file gives alone cannot be removed.
func TestBaseAndOverride(t *testing.T) {
	e, producer, consumer := newKafka(), kafka.ProducerByteRate, kafka.ConsumerByteRate
	e.SetBase(map[string]Limits{"alice": {producer: 100, consumer: 200}})
	if got := allDescribed(t, e, filter("user=alice", true)); got != `user "alice": consumer_byte_rate=200 producer_byte_rate=100` {
		t.Errorf("got %q", got)
	}
	r := alter(e, user("alice"), remove(consumer), set(producer, 1))
	if code(r.Err) != 42 || !strings.Contains(r.Err.Message, "consumer_byte_rate of user alice comes from the credentials file: change it there") {
		t.Errorf("got %v", r.Err)
	}
	r = alter(e, user("alice"), set(producer, 150), set(kafka.RequestPercentage, 5))
	if diff := cmp.Diff(Result{Components: user("alice"), Old: Limits{producer: 100, consumer: 200},
		New: Limits{producer: 150, consumer: 200, kafka.RequestPercentage: 5}}, r); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	c := e.Client("alice", "")
	if limitOf(c, Produce) != 150 || limitOf(c, Fetch) != 200 {
		t.Errorf("in force: %g and %g", limitOf(c, Produce), limitOf(c, Fetch))
	}
	if changed, hidden := e.SetBase(map[string]Limits{"alice": {producer: 101, consumer: 201}, "bob": {consumer: 1}}); changed != 2 || hidden != 1 {
		t.Errorf("changed %d, hidden %d, want 2, 1", changed, hidden)
	}
	if limitOf(c, Produce) != 150 || limitOf(c, Fetch) != 201 {
		t.Errorf("in force: %g and %g", limitOf(c, Produce), limitOf(c, Fetch))
	}
	alter(e, user("alice"), remove(producer))
	if limitOf(c, Produce) != 101 {
		t.Errorf("the file does not show again: %g", limitOf(c, Produce))
	}
	e.SetBase(nil) // O-a06: a user that leaves the file keeps what the API has set
	if got := allDescribed(t, e, Filter{}); got != `user "alice": request_percentage=5` || limitOf(c, Produce) != 0 || limitOf(c, Request) != 5*percent {
		t.Errorf("got %q", got)
	}
}

// ledger is a journal in memory that can be full.
type ledger struct {
	settings []Setting
	full     error
	during   func()
}

func (l *ledger) Keep(_ context.Context, settings []Setting) error {
	if l.during != nil {
		l.during()
	}
	if l.full != nil {
		return l.full
	}
	l.settings = append(l.settings, settings...)
	return nil
}

// TestJournal holds T47 as far as this room goes: what is in force was kept
// before, what cannot be kept changes nothing.
func TestJournal(t *testing.T) {
	e, j, producer := newKafka(), &ledger{}, kafka.ProducerByteRate
	e.Restore([]Setting{{Entity: kafka.UserEntity("alice"), Limits: Limits{producer: 100}}}, j)
	e.Restore([]Setting{{Entity: kafka.Entity{User: kafka.Named("alice"), IP: kafka.Named("1.2.3.4")}, Limits: Limits{producer: 1}}}, j)
	if got := allDescribed(t, e, Filter{}); got != `user "alice": producer_byte_rate=100` {
		t.Fatalf("restored %q", got)
	}
	c := e.Client("alice", "c")
	if limitOf(c, Produce) != 100 {
		t.Fatalf("restored %g", limitOf(c, Produce))
	}
	j.during = func() {
		if got := limitOf(c, Produce); got != 100 {
			t.Errorf("%g is in force before it is kept", got)
		}
	}
	one := func(ops ...Op) string {
		return codes(e.Alter(context.Background(), time.Now(), []Alteration{
			{user("alice"), ops}, {user("bob"), []Op{set(producer, -1)}}, {user("carol"), []Op{remove(producer)}},
		}, false))
	}
	if got := one(set(producer, 200)); got != "0 42 0" || limitOf(c, Produce) != 200 {
		t.Errorf("%s, then %g is in force", got, limitOf(c, Produce))
	}
	want := []Setting{{Entity: kafka.UserEntity("alice"), Limits: Limits{producer: 200}}}
	if diff := cmp.Diff(want, j.settings, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	j.during, j.full = nil, kafka.Errorf(kafka.KafkaStorageError, "no space left on the disk")
	r := e.Alter(context.Background(), time.Now(), []Alteration{{user("alice"), []Op{set(producer, 300)}}, {user("bob"), nil}}, false)
	if codes(r) != "56 0" || r[0].Err.Message != "no space left on the disk" || limitOf(c, Produce) != 200 {
		t.Errorf("%s (%v), then %g is in force", codes(r), r[0].Err, limitOf(c, Produce))
	}
	if got := allDescribed(t, e, Filter{}); got != `user "alice": producer_byte_rate=200` {
		t.Errorf("described %q", got)
	}
	j.full = errors.New("secret path")
	if r := alter(e, user("alice"), set(producer, 300)); code(r.Err) != kafka.UnknownServerError || strings.Contains(r.Err.Message, "secret") {
		t.Errorf("got %v", r.Err)
	}
	j.full, j.settings = nil, nil
	alter(e, user("alice"), remove(producer))
	if len(j.settings) != 1 || len(j.settings[0].Limits) != 0 || limitOf(c, Produce) != 0 {
		t.Errorf("the removal was kept as %v", j.settings)
	}
	e.Alter(context.Background(), time.Now(), []Alteration{{user("alice"), []Op{set(producer, 1)}}}, true)
	if len(j.settings) != 1 {
		t.Error("what was only checked is kept")
	}
}

// TestUserModelWarnsOnce: an alteration that will be gone is said to be.
func TestUserModelWarnsOnce(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	e := New(UserModel(), DefaultOptions(), zap.New(core), nil)
	alter(e, user("u"), remove(kafka.ProducerByteRate))
	alter(e, user("u"), set(kafka.ProducerByteRate, -1))
	e.Alter(context.Background(), time.Now(), []Alteration{{user("u"), []Op{set(kafka.ProducerByteRate, 1)}}}, true)
	if logged.Len() != 0 {
		t.Errorf("logged %v", logged.All())
	}
	for i := range 3 {
		alter(e, user("u"), set(kafka.ProducerByteRate, float64(i+1)))
	}
	if logged.Len() != 1 || !strings.Contains(logged.All()[0].Message, "quota.model=kafka") {
		t.Errorf("logged %v", logged.All())
	}
}
