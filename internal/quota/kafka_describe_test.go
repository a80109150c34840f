package quota

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"kaasd/internal/kafka"
)

// thirteen are the entities of Kafka's own describe tests, E1 to E13.
var thirteen = []string{
	"user=user-1, client-id=client-id-1", "user=user-2, client-id=client-id-1", "user=user-3, client-id=client-id-2",
	"user, client-id=client-id-1", "user=user-1, client-id", "user=user-3, client-id",
	"user=user-1", "user=user-2", "user=user-3", "user", "client-id=client-id-2", "ip=1.2.3.4", "ip=2.3.4.5",
}

// TestDescribeTable holds T1, T2, O-a02 and O-a10 with Kafka's table.
func TestDescribeTable(t *testing.T) {
	e := newKafka()
	var entries []Alteration
	for i, entity := range thirteen {
		op := set(kafka.RequestPercentage, 50.50+1.01*float64(i))
		if strings.HasPrefix(entity, "ip") {
			op = set(kafka.ConnectionCreationRate, float64(10*(i-10)))
		}
		entries = append(entries, Alteration{parts(entity), []Op{op}})
	}
	if got := codes(e.Alter(context.Background(), time.Now(), entries, false)); strings.Trim(got, "0 ") != "" {
		t.Fatal(got)
	}
	const all = "1 2 3 4 5 6 7 8 9 10 11 12 13"
	type row struct {
		filter string
		strict bool
		want   string // numbers of the entities
	}
	table := []row{
		{"user=user-1", false, "1 5 7"},
		{"user=unknown", false, ""},
		{"client-id=client-id-2", false, "3 11"},
		{"user default", false, "4 10"},
		{"user=user-2", true, "8"},
		{"client-id=client-id-1", true, ""},
		{"user any", true, "7 8 9 10"},
		{"user any", false, "1 2 3 4 5 6 7 8 9 10"},
		{"client-id any", true, "11"},
		{"client-id any", false, "1 2 3 4 5 6 11"},
		{"ip any", false, "12 13"},
		{"", false, all},
		{"", true, ""},
		{"user=user-1, client-id=client-id-2", true, ""},
		{"user=user-3, client-id=client-id-1", true, ""},
		{"user=user-2, client-id default", true, ""},
		{"user=user-4", true, ""},
		{"user default, client-id=client-id-2", true, ""},
		{"client-id=client-id-3", true, ""},
		{"user any, client-id any", true, "1 2 3 4 5 6"},
		{"client-id any, user any", false, "1 2 3 4 5 6"},
		{"user=user-1, client-id any", true, "1 5"},
		{"user any, client-id=client-id-1", true, "1 2 4"},
		{"user default, client-id=client-id-1", true, "4"},
		{"user default, client-id any", false, "4"},
		{"user default, client-id default", true, ""},
		{"client-id default", false, "5 6"},
		{"user default", true, "10"},
		{"ip any", true, "12 13"},
		{"ip=1.2.3.4", true, "12"},
		{"ip=1.2.3.4", false, "12"},
		{"ip default", true, ""},
		{"ip=not an ip", false, ""},
		{"user=", false, ""},
		{"user=", true, ""},
		{"user=USER-1", false, ""},
	}
	for i, entity := range thirteen {
		exact := entity
		for _, kind := range []string{"user", "client-id"} {
			exact = strings.ReplaceAll(exact+",", kind+",", kind+" default,")
			exact = strings.TrimSuffix(exact, ",")
		}
		table = append(table, row{exact, true, fmt.Sprint(i + 1)})
	}
	for _, c := range table {
		t.Run(fmt.Sprintf("%q strict %v", c.filter, c.strict), func(t *testing.T) {
			entries, err := e.Describe(filter(c.filter, c.strict))
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, entry := range entries {
				found[show(entry.Components)] = true
			}
			var got []string
			for i, entity := range thirteen {
				if found[show(parts(entity))] {
					got = append(got, fmt.Sprint(i+1))
				}
			}
			if strings.Join(got, " ") != c.want || len(entries) != len(got) {
				t.Errorf("got %q (%d), want %q", got, len(entries), c.want)
			}
		})
	}
}

// TestDescribeOrder: the answer does not depend on how settings came about.
func TestDescribeOrder(t *testing.T) {
	order := []string{
		"user=a", "user=a, client-id=x", "user=a, client-id=y", "user=b", "client-id=x", "client-id=y",
		"user=a, client-id", "user", "user, client-id=x", "user, client-id", "client-id", "ip=::1", "ip=localhost", "ip",
	}
	for seed := range uint64(10) {
		e := newKafka()
		e.lookup = resolveHosts
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(order)) {
			key := kafka.ProducerByteRate
			if strings.HasPrefix(order[i], "ip") {
				key = kafka.ConnectionCreationRate
			}
			give(t, e, order[i], key, 1)
		}
		entries, err := e.Describe(Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for i, entry := range entries {
			if got, want := show(entry.Components), show(parts(order[i])); got != want {
				t.Errorf("entity %d is %s, want %s", i, got, want)
			}
		}
	}
}

// TestKafkaFilters: the faults of a filter under the kafka model.
func TestKafkaFilters(t *testing.T) {
	for text, want := range map[string]string{
		"ip any, user any":                "42 Invalid entity filter component combination",
		"client-id=c, ip=1.2.3.4":         "42 Invalid entity filter component combination",
		"ip any, group any":               `35 custom entity type "group"`, // T3
		"ip any, ip any":                  "42 the filter names entity type ip twice",
		"user any, client-id any, ip any": "42 Invalid entity filter component combination",
	} {
		for _, strict := range []bool{false, true} {
			if got := described(t, newKafka(), filter(text, strict)); !strings.HasPrefix(got, want) {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
	}
}
