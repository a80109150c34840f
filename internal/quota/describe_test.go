package quota

import (
	"strings"
	"testing"

	"kaasd/internal/kafka"
)

func TestDescribe(t *testing.T) {
	e := newEnforcer()
	e.SetBase(map[string]Limits{"b": {"producer_byte_rate": 2}})
	alter(e, user("a"), set("producer_byte_rate", 1))
	alter(e, user("<default>"), set("producer_byte_rate", 3))
	const all = `user "<default>": producer_byte_rate=3; user "a": producer_byte_rate=1; user "b": producer_byte_rate=2`
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name       string
		components []FilterComponent
		want       string
	}{
		{"no component", nil, all},
		{"any user", []FilterComponent{{"user", MatchAny, nil}}, all},
		{"exact, override", []FilterComponent{{"user", MatchExact, text("a")}}, `user "a": producer_byte_rate=1`},
		{"exact, file", []FilterComponent{{"user", MatchExact, text("b")}}, `user "b": producer_byte_rate=2`},
		{"exact, nobody", []FilterComponent{{"user", MatchExact, text("nobody")}}, ""},
		{"exact, empty name", []FilterComponent{{"user", MatchExact, text("")}}, ""},
		{"letter case counts", []FilterComponent{{"user", MatchExact, text("A")}}, ""},
		{"default user", []FilterComponent{{"user", MatchDefault, nil}}, ""},
		{"any client-id", []FilterComponent{{"client-id", MatchAny, nil}}, ""},
		{"exact ip", []FilterComponent{{"ip", MatchExact, text("1.2.3.4")}}, ""},
		{"user and client-id", []FilterComponent{{"user", MatchExact, text("a")}, {"client-id", MatchAny, nil}}, ""},
		{"ip and user", []FilterComponent{{"ip", MatchAny, nil}, {"user", MatchAny, nil}}, ""},
	} {
		for _, strict := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				if got := described(t, e, Filter{Components: c.components, Strict: strict}); got != c.want {
					t.Errorf("strict %v: got %q, want %q", strict, got, c.want)
				}
			})
		}
	}
}

func TestMalformedFilters(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name       string
		components []FilterComponent
		code       kafka.Code
		says       string
	}{
		{"empty type", []FilterComponent{{"", MatchAny, nil}}, 42, "empty entity type"},
		{"type twice", []FilterComponent{{"user", MatchAny, nil}, {"user", MatchAny, nil}}, 42, "user twice"},
		{"unknown type", []FilterComponent{{"group", MatchAny, nil}}, 35, `"group"`},
		{"unknown type before its match", []FilterComponent{{"group", 9, nil}}, 35, `"group"`},
		{"unknown type twice", []FilterComponent{{"group", MatchAny, nil}, {"group", MatchAny, nil}}, 35, `"group"`},
		{"exact without name", []FilterComponent{{"user", MatchExact, nil}}, 42, "exact user without a name"},
		{"default with name", []FilterComponent{{"user", MatchDefault, text("a")}}, 42, `default user but names "a"`},
		{"default with empty name", []FilterComponent{{"client-id", MatchDefault, text("")}}, 42, "default client-id"},
		{"any with name", []FilterComponent{{"ip", MatchAny, text("a")}}, 42, "any ip"},
		{"match type 3", []FilterComponent{{"user", 3, nil}}, 42, "unknown match type 3"},
		{"match type -1", []FilterComponent{{"user", -1, nil}}, 42, "unknown match type -1"},
		{"first fault first", []FilterComponent{{"user", 7, nil}, {"group", MatchAny, nil}}, 42, "match type 7"},
		{"second component", []FilterComponent{{"client-id", MatchAny, nil}, {"user", MatchExact, nil}}, 42, "exact user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, err := newEnforcer().Describe(Filter{Components: c.components})
			if kafka.CodeOf(err) != c.code || !strings.Contains(kafka.MessageOf(err), c.says) || entries != nil {
				t.Errorf("got %v, %v, want %d with %q", entries, err, c.code, c.says)
			}
		})
	}
}
