package quota

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"kaasd/internal/kafka"
)

// TestRoom: overrides cannot fill the memory. What there is no room for is refused
// by itself; what is there can be replaced, and its removal makes room again.
func TestRoom(t *testing.T) { inBothModels(t, testRoom) }

func testRoom(t *testing.T, e *Enforcer) {
	rate := func(v float64) []Op { return []Op{set("producer_byte_rate", v)} }
	for _, name := range []string{"a", "b", "c"} {
		alter(e, user(name), rate(1)...)
	}
	e.held = maxHeld - 100
	for _, validateOnly := range []bool{true, false} {
		over := e.Alter(context.Background(), time.Now(), []Alteration{{user("d"), rate(1)}, {user("a"), rate(2)}}, validateOnly)
		if err := over[0].Err; code(err) != kafka.PolicyViolation || !strings.Contains(err.Message, fmt.Sprint(maxHeld)) || over[1].Err != nil {
			t.Errorf("got %v and %v, want 44 with the bound for the new name alone", err, over[1].Err)
		}
	}
	for _, step := range []struct {
		name string
		got  Result
		want kafka.Code
	}{
		{"another value", alter(e, user("b"), set("consumer_byte_rate", 1)), kafka.PolicyViolation},
		{"a value replaced", alter(e, user("b"), rate(3)...), kafka.NoError},
		{"one value in place of another", alter(e, user("b"), remove("producer_byte_rate"), set("consumer_byte_rate", 1)), kafka.NoError},
		{"nothing to remove", alter(e, user("d"), remove("consumer_byte_rate")), kafka.NoError},
		{"a removed entity", alter(e, user("b"), remove("consumer_byte_rate")), kafka.NoError},
		{"another in its place", alter(e, user("d"), rate(1)...), kafka.NoError},
		{"one more", alter(e, user("b"), rate(1)...), kafka.PolicyViolation},
	} {
		if code(step.got.Err) != step.want {
			t.Errorf("%s: got %v, want %v", step.name, step.got.Err, step.want)
		}
	}
	if two := e.Alter(context.Background(), time.Now(), []Alteration{{user("a"), []Op{remove("producer_byte_rate")}}, {user("e"), rate(1)}, {user("f"), rate(1)}}, false); two[1].Err != nil || code(two[2].Err) != kafka.PolicyViolation {
		t.Errorf("what a request removes first makes room in it for one: got %v and %v", two[1].Err, two[2].Err)
	}
}

// TestRoomForTensOfThousands: as many users as anybody has, with a quota for what
// they produce and one for what they fetch.
func TestRoomForTensOfThousands(t *testing.T) {
	e := newKafka()
	for i := range 30_000 {
		if err := alter(e, user(fmt.Sprintf("user-%d", i)), set("producer_byte_rate", 1), set("consumer_byte_rate", 1)).Err; err != nil {
			t.Fatalf("the %dth: %v", i+1, err)
		}
	}
}

// TestRestoreAboveTheBound: a start puts in force what was there. From there on
// nothing may be added, and everything can be removed.
func TestRestoreAboveTheBound(t *testing.T) {
	e := newKafka()
	var settings []Setting
	for i := range maxHeld/weigh(kafka.Entity{}, 1) + 1 {
		settings = append(settings, Setting{Entity: kafka.UserEntity(fmt.Sprintf("user-%d", i)), Limits: Limits{"producer_byte_rate": 1}})
	}
	long := strings.Repeat("n", 2*kafka.MaxName)
	settings = append(settings, Setting{Entity: kafka.UserEntity(long), Limits: Limits{"producer_byte_rate": 1}})
	e.Restore(settings, nil)
	if entries, err := e.Describe(Filter{}); err != nil || len(entries) != len(settings) {
		t.Fatalf("%d are in force (%v), want %d", len(entries), err, len(settings))
	}
	if err := alter(e, user("new"), set("producer_byte_rate", 1)).Err; code(err) != kafka.PolicyViolation {
		t.Errorf("another one: %v, want 44", err)
	}
	for name, step := range map[string]Result{
		"a long name replaced":  alter(e, user(long), set("producer_byte_rate", 2)),
		"a short name replaced": alter(e, user("user-1"), set("producer_byte_rate", 2)),
		"removed":               alter(e, user("user-2"), remove("producer_byte_rate")),
	} {
		if step.Err != nil {
			t.Errorf("%s: %v", name, step.Err)
		}
	}
}

// TestLongNames: a name may have 4096 bytes, and one that is too long is told.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", kafka.MaxName+1)
	for _, c := range []struct {
		components []Component
		ops        []Op
		says       string // "" is good
	}{
		{user(long), []Op{set("producer_byte_rate", 1)}, `the user "nnnn`},
		{append(user("u"), named("client-id", long)), []Op{set("producer_byte_rate", 1)}, `the client-id "nnnn`},
		{user(long), []Op{remove("producer_byte_rate")}, ""},
		{user(long[1:]), []Op{set("producer_byte_rate", 1)}, ""},
	} {
		err := alter(newKafka(), c.components, c.ops...).Err
		if (err == nil) != (c.says == "") || err != nil && (err.Code != kafka.InvalidRequest || !strings.Contains(err.Message, c.says) || len(err.Message) > 200) {
			t.Errorf("got %v, want 42 that says %q in short", err, c.says)
		}
	}
	if err := alter(newEnforcer(), user(long), set("producer_byte_rate", 1)).Err; code(err) != kafka.InvalidRequest {
		t.Errorf("in the model user: %v, want 42", err)
	}
}

// TestSumsOfOverrides: what overrides count is what is there, and nothing is left
// of it with the last one.
func TestSumsOfOverrides(t *testing.T) { inBothModels(t, testSumsOfOverrides) }

func testSumsOfOverrides(t *testing.T, e *Enforcer) {
	for _, step := range []struct {
		ops         []Op
		held, count int
	}{
		{[]Op{set("producer_byte_rate", 1)}, weigh(kafka.UserEntity("u"), 1), 1},
		{[]Op{set("producer_byte_rate", 2), set("consumer_byte_rate", 2)}, weigh(kafka.UserEntity("u"), 2), 1},
		{[]Op{remove("producer_byte_rate")}, weigh(kafka.UserEntity("u"), 1), 1},
		{[]Op{remove("consumer_byte_rate")}, 0, 0},
		{[]Op{remove("consumer_byte_rate")}, 0, 0},
	} {
		alter(e, user("u"), step.ops...)
		if e.held != step.held || e.overridden != step.count {
			t.Errorf("after %v: %d overrides count %d bytes, want %d and %d", step.ops, e.overridden, e.held, step.count, step.held)
		}
	}
}
