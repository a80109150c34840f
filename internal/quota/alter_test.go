package quota

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

func newEnforcer() *Enforcer { return New(UserModel(), DefaultOptions(), zap.NewNop(), nil) }

func named(kind, name string) Component { return Component{Type: kind, Name: &name} }

func user(name string) []Component { return []Component{named("user", name)} }

func set(key string, v float64) Op { return Op{Key: key, Value: v} }

func remove(key string) Op { return Op{Key: key, Remove: true, Value: math.NaN()} }

// alter applies one entry.
func alter(e *Enforcer, components []Component, ops ...Op) Result {
	return e.Alter(context.Background(), time.Now(), []Alteration{{Components: components, Ops: ops}}, false)[0]
}

// described is what Describe says, in one line.
func described(t *testing.T, e *Enforcer, f Filter) string {
	t.Helper()
	entries, err := e.Describe(f)
	if err != nil {
		return fmt.Sprintf("%d %s", kafka.CodeOf(err), kafka.MessageOf(err))
	}
	var parts []string
	for _, entry := range entries {
		text := show(entry.Components) + ":"
		for _, v := range entry.Values {
			text += fmt.Sprintf(" %s=%g", v.Key, v.Value)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func TestAlterRefusals(t *testing.T) {
	empty := ""
	for _, c := range []struct {
		name       string
		components []Component
		ops        []Op
		code       kafka.Code
		says       string
	}{
		{"no components", nil, nil, 42, "needs a component"},
		{"unknown type", []Component{named("group", "g")}, nil, 42, `unhandled entity type "group"`},
		{"type in capitals", []Component{named("User", "u")}, nil, 42, `unhandled entity type "User"`},
		{"empty type", []Component{{}}, nil, 42, `unhandled entity type ""`},
		{"empty name", []Component{{Type: "user", Name: &empty}}, nil, 42, "empty user unsupported"},
		{"empty ip", []Component{{Type: "ip", Name: &empty}}, nil, 42, "empty ip unsupported"},
		{"client-id", []Component{named("client-id", "c1")}, nil, 42, `client-id "c1" cannot have a quota of its own, only one named user can (quota.model=kafka`},
		{"ip", []Component{named("ip", "1.2.3.4")}, nil, 42, "quota.model=kafka"},
		{"default user", []Component{{Type: "user"}}, nil, 42, "user-default cannot"},
		{"user and client-id", append(user("u"), named("client-id", "c")), nil, 42, "quota.model=kafka"},
		{"two users", append(user("a"), user("b")...), nil, 42, "quota.model=kafka"},
		{"entity before ops", []Component{named("client-id", "c")}, []Op{set("bogus", 1)}, 42, "client-id"},
		{"unknown key", user("u"), []Op{set("bogus", 1)}, 40, `unknown quota key "bogus"`},
		{"key of the other model", user("u"), []Op{set(kafka.ControllerMutationRate, 1)}, 40, `unknown quota key "controller_mutation_rate" (quota.model=kafka has it): users take producer_byte_rate, `},
		{"unknown key removed", user("u"), []Op{remove("bogus")}, 40, `unknown quota key "bogus"`},
		{"scram mechanism as key", user("u"), []Op{set("SCRAM-SHA-256", 1)}, 40, "SCRAM-SHA-256"},
		{"mutation rate", user("u"), []Op{set("controller_mutation_rate", 1)}, 40, "controller_mutation_rate"},
		{"connection rate", user("u"), []Op{set("connection_creation_rate", 5)}, 40, "connection_creation_rate"},
		{"key before value", user("u"), []Op{set("bogus", -1)}, 40, "bogus"},
		{"first fault first", user("u"), []Op{set("producer_byte_rate", -1), set("bogus", 1)}, 42, "producer_byte_rate=-1"},
		{"set twice", user("u"), []Op{set("producer_byte_rate", 1), set("producer_byte_rate", 2)}, 42, "duplicate quota key producer_byte_rate"},
		{"set and removed", user("u"), []Op{set("producer_byte_rate", 1), remove("producer_byte_rate")}, 42, "duplicate"},
		{"good beside bad", user("u"), []Op{set("producer_byte_rate", 5), set("consumer_byte_rate", 0)}, 42, "consumer_byte_rate=0 is not a quota: it must be above zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEnforcer()
			for _, validateOnly := range []bool{true, false} {
				results := e.Alter(context.Background(), time.Now(), []Alteration{{c.components, c.ops}}, validateOnly)
				if len(results) != 1 || results[0].Err == nil {
					t.Fatalf("got %+v, want one refusal", results)
				}
				if err := results[0].Err; err.Code != c.code || !strings.Contains(err.Message, c.says) {
					t.Errorf("got %v, want %d with %q", err, c.code, c.says)
				}
				if diff := cmp.Diff(c.components, results[0].Components); diff != "" {
					t.Errorf("echo (-want +got):\n%s", diff)
				}
			}
			if got := described(t, e, Filter{}); got != "" {
				t.Errorf("stored %q", got)
			}
		})
	}
}

func TestValues(t *testing.T) {
	const above, fraction, large, finite, one = "above zero", "fraction", "too large", "finite", "at least one"
	for _, c := range []struct {
		value      float64
		byteRate   string // "" is good
		percentage string
	}{
		{1, "", ""}, {1000, "", ""}, {2147483648, "", ""}, {1 << 63, "", ""}, {1000.0000005, "", ""},
		{0, above, above}, {math.Copysign(0, -1), above, above}, {-1, above, above}, {-1e300, above, above},
		{0.5, fraction, ""}, {1.5, fraction, ""}, {10000.5, fraction, ""}, {2e-6, fraction, ""}, {999.9999995, fraction, ""},
		{1e-7, one, ""}, {1e-6, one, ""}, {5e-324, one, ""},
		{math.Nextafter(1<<63, math.Inf(1)), large, ""}, {1e300, large, ""},
		{math.NaN(), finite, finite}, {math.Inf(1), finite, finite}, {math.Inf(-1), finite, finite},
	} {
		for key, says := range map[string]string{
			"producer_byte_rate": c.byteRate, "consumer_byte_rate": c.byteRate, "request_percentage": c.percentage,
		} {
			t.Run(fmt.Sprintf("%s=%g", key, c.value), func(t *testing.T) {
				e := newEnforcer()
				r := alter(e, user("u"), set(key, c.value))
				switch {
				case says == "" && r.Err != nil:
					t.Errorf("got %v, want it taken", r.Err)
				case says == "" && (r.New[key] != c.value || e.effective(kafka.UserEntity("u"))[key] != c.value):
					t.Errorf("stored %g", r.New[key])
				case says != "" && (r.Err == nil || r.Err.Code != kafka.InvalidRequest ||
					!strings.Contains(r.Err.Message, says) || !strings.Contains(r.Err.Message, key)):
					t.Errorf("got %v, want 42 with %q", r.Err, says)
				}
			})
		}
	}
}

// TestAlterSequence is the life of one user's quota, as kafka-configs lives it.
func TestAlterSequence(t *testing.T) {
	e := newEnforcer()
	for _, step := range []struct {
		ops  []Op
		want string
	}{
		{nil, ""},
		{[]Op{set("producer_byte_rate", 10000), set("consumer_byte_rate", 20000)}, "consumer_byte_rate=20000 producer_byte_rate=10000"},
		{[]Op{set("producer_byte_rate", 15000)}, "consumer_byte_rate=20000 producer_byte_rate=15000"},
		{[]Op{remove("producer_byte_rate")}, "consumer_byte_rate=20000"},
		{[]Op{remove("request_percentage")}, "consumer_byte_rate=20000"},
		{[]Op{set("producer_byte_rate", 20000), remove("consumer_byte_rate"), set("request_percentage", 12.3)}, "producer_byte_rate=20000 request_percentage=12.3"},
		{[]Op{remove("producer_byte_rate"), remove("request_percentage")}, ""},
	} {
		if r := alter(e, user("u with spaces"), step.ops...); r.Err != nil {
			t.Fatalf("%v: %v", step.ops, r.Err)
		}
		want := ""
		if step.want != "" {
			want = `user "u with spaces": ` + step.want
		}
		if got := described(t, e, Filter{}); got != want {
			t.Errorf("after %v: got %q, want %q", step.ops, got, want)
		}
	}
}

// TestPrecedence: describe shows the override before the file before none,
// for the user as a whole.
func TestPrecedence(t *testing.T) {
	e := newEnforcer()
	producer, consumer := "producer_byte_rate", "consumer_byte_rate"
	check := func(want string) {
		t.Helper()
		if got := described(t, e, Filter{}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("")
	e.SetBase(map[string]Limits{"alice": {producer: 100, consumer: 200}, "bob": {producer: 0}})
	check(`user "alice": consumer_byte_rate=200 producer_byte_rate=100`)

	// What changes nothing pins nothing.
	alter(e, user("alice"))
	alter(e, user("alice"), remove("request_percentage"))
	e.SetBase(map[string]Limits{"alice": {producer: 101, consumer: 200}})
	check(`user "alice": consumer_byte_rate=200 producer_byte_rate=101`)

	// One of two file keys is removed: the other becomes the override.
	r := alter(e, user("alice"), remove(producer))
	if diff := cmp.Diff(Result{Components: user("alice"), Old: Limits{producer: 101, consumer: 200}, New: Limits{consumer: 200}}, r); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	check(`user "alice": consumer_byte_rate=200`)

	// The file changes: the override still wins, and that is counted.
	if changed, hidden := e.SetBase(map[string]Limits{"alice": {producer: 1, consumer: 2}, "carol": {producer: 3}}); changed != 2 || hidden != 1 {
		t.Errorf("changed %d, hidden %d, want 2, 1", changed, hidden)
	}
	check(`user "alice": consumer_byte_rate=200; user "carol": producer_byte_rate=3`)

	// The last key is removed: the file shows again.
	r = alter(e, user("alice"), remove(consumer))
	if diff := cmp.Diff(Limits{producer: 1, consumer: 2}, r.New); diff != "" {
		t.Errorf("in force (-want +got):\n%s", diff)
	}
	check(`user "alice": consumer_byte_rate=2 producer_byte_rate=1; user "carol": producer_byte_rate=3`)

	// A user that leaves the file keeps its override, and loses its base.
	alter(e, user("alice"), set("request_percentage", 5))
	e.SetBase(nil)
	check(`user "alice": consumer_byte_rate=2 producer_byte_rate=1 request_percentage=5`)
}

// TestSameValueAsTheFile: to set what the file gives is to hold on to it.
func TestSameValueAsTheFile(t *testing.T) { inBothModels(t, testSameValueAsTheFile) }

func testSameValueAsTheFile(t *testing.T, e *Enforcer) {
	const key = kafka.ProducerByteRate
	e.SetBase(map[string]Limits{"alice": {key: 100}})
	if r := alter(e, user("alice"), set(key, 100)); r.Err != nil {
		t.Fatal(r.Err)
	}
	if _, hidden := e.SetBase(map[string]Limits{"alice": {key: 200}}); hidden != 1 {
		t.Errorf("%d users are hidden, want 1", hidden)
	}
	if got := e.effective(kafka.UserEntity("alice"))[key]; got != 100 {
		t.Errorf("the file changes, and %g is in force", got)
	}
	alter(e, user("alice"), remove(key))
	if got := e.effective(kafka.UserEntity("alice"))[key]; got != 200 {
		t.Errorf("it is removed, and %g is in force", got)
	}
}

func TestBaseValuesThatAreNoQuotas(t *testing.T) {
	e := newEnforcer()
	e.SetBase(map[string]Limits{
		"a": {"producer_byte_rate": -1, "consumer_byte_rate": 5, "controller_mutation_rate": 3},
		"b": {"producer_byte_rate": math.NaN()},
	})
	if got, want := described(t, e, Filter{}), `user "a": consumer_byte_rate=5`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAlterManyEntries(t *testing.T) {
	e := newEnforcer()
	clientID := named("client-id", "c")
	results := e.Alter(context.Background(), time.Now(), []Alteration{
		{user("a"), []Op{set("producer_byte_rate", 1)}},
		{append(user("x"), clientID), nil},
		{user("b"), []Op{set("producer_byte_rate", -1)}},
		{append([]Component{clientID}, user("x")...), nil}, // the same as the second
		{user("d"), []Op{set("producer_byte_rate", 4)}},
		{user("c"), []Op{set("producer_byte_rate", 3)}},
		{user("d"), []Op{set("consumer_byte_rate", 4)}}, // the same as the fifth
	}, false)
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprintf("%s %d", show(r.Components), code(r.Err)))
	}
	want := []string{`user "a" 0`, `user "x", client-id "c" 42`, `user "b" 42`, `user "d" 42`, `user "c" 0`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if !strings.Contains(results[3].Err.Message, "duplicate") {
		t.Errorf("the duplicate is told %q", results[3].Err.Message)
	}
	if got, want := described(t, e, Filter{}), `user "a": producer_byte_rate=1; user "c": producer_byte_rate=3`; got != want {
		t.Errorf("stored %q, want %q", got, want)
	}
	if got := e.Alter(context.Background(), time.Now(), nil, false); len(got) != 0 {
		t.Errorf("no entries are answered by %v", got)
	}
}

func code(err *kafka.Error) kafka.Code {
	if err == nil {
		return 0
	}
	return err.Code
}

func TestValidateOnly(t *testing.T) {
	e := newEnforcer()
	alter(e, user("u"), set("producer_byte_rate", 10))
	r := e.Alter(context.Background(), time.Now(), []Alteration{{user("u"), []Op{set("producer_byte_rate", 20), remove("consumer_byte_rate")}}}, true)
	want := []Result{{Components: user("u"), Old: Limits{"producer_byte_rate": 10}, New: Limits{"producer_byte_rate": 20}}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if got, want := described(t, e, Filter{}), `user "u": producer_byte_rate=10`; got != want {
		t.Errorf("stored %q, want %q", got, want)
	}
}

func TestAlterTooMuch(t *testing.T) {
	entries := func(n int) (all []Alteration) {
		for i := range n {
			all = append(all, Alteration{user(fmt.Sprint("u", i)), []Op{set("producer_byte_rate", 1), set("consumer_byte_rate", 2)}})
		}
		return all
	}
	e := newEnforcer()
	for _, validateOnly := range []bool{true, false} {
		for _, r := range e.Alter(context.Background(), time.Now(), entries(5001), validateOnly) {
			if code(r.Err) != kafka.PolicyViolation || !strings.Contains(r.Err.Message, "changes 10002 values, 10000 is the most") {
				t.Fatalf("got %v, want 44", r.Err)
			}
		}
	}
	if got := described(t, e, Filter{}); got != "" {
		t.Error("something was stored")
	}
	for _, r := range e.Alter(context.Background(), time.Now(), entries(5000), false) {
		if r.Err != nil {
			t.Fatalf("10,000 changes: %v", r.Err)
		}
	}
}

// TestConcurrentAlter: nothing is lost when twenty clients alter at once.
func TestConcurrentAlter(t *testing.T) { inBothModels(t, testConcurrentAlter) }

func inBothModels(t *testing.T, f func(t *testing.T, e *Enforcer)) {
	t.Run("user", func(t *testing.T) { f(t, newEnforcer()) })
	t.Run("kafka", func(t *testing.T) { f(t, newKafka()) })
}

func testConcurrentAlter(t *testing.T, e *Enforcer) {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			alter(e, user(fmt.Sprint("u", i)), set("producer_byte_rate", 1))
			key := []string{"producer_byte_rate", "consumer_byte_rate", "request_percentage"}[i%3]
			alter(e, user("shared"), set(key, float64(7)))
			e.Client("shared", "").Charge(Produce, 1, time.Now())
			_, _ = e.Describe(Filter{})
		})
	}
	all.Wait()
	entries, err := e.Describe(Filter{})
	if err != nil || len(entries) != 21 || len(entries[0].Values) != 3 {
		t.Errorf("got %v (%v), want 21 entities, the first with three keys", entries, err)
	}
}

// TestNames: every name is one of its own and comes back byte for byte.
func TestNames(t *testing.T) { inBothModels(t, testNames) }

func testNames(t *testing.T, e *Enforcer) {
	names := []string{"CN=app1", "CN=app1,O=x", "a/b", "a%2Fb", "a b", "\u00fc", "*", "<default>", "ANONYMOUS", "\xff\xfe", "A", "a"}
	for i, name := range names {
		alter(e, user(name), set("producer_byte_rate", float64(i+1)))
	}
	now := time.Now()
	for i, name := range names {
		entries, err := e.Describe(Filter{Components: []FilterComponent{{Type: "user", Name: &name}}})
		want := []Entry{{Components: user(name), Values: []Value{{"producer_byte_rate", float64(i + 1)}}}}
		if diff := cmp.Diff(want, entries); diff != "" || err != nil {
			t.Errorf("%q (-want +got):\n%s%v", name, diff, err)
		}
		// A full bucket and one more second at its own rate.
		full := int(e.model.rules[Produce].burst / time.Second)
		if got := e.Client(name, "").Charge(Produce, (full+1)*(i+1), now).Millis(); got != 1000 {
			t.Errorf("%q is throttled by %d ms, want 1000", name, got)
		}
	}
	if got := described(t, e, Filter{Components: []FilterComponent{{Type: "user", Match: MatchDefault}}}); got != "" {
		t.Errorf("the default filter finds %q", got)
	}
}
