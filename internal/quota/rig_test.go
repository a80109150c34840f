package quota

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// newKafka is an Enforcer of the kafka model with Kafka's windows.
func newKafka() *Enforcer {
	return New(KafkaModel(DefaultWindows()), DefaultOptions(), zap.NewNop(), nil)
}

// parts are the components that a text names: "user=alice, client-id" is the
// default client of alice.
func parts(text string) []Component {
	var all []Component
	for _, part := range strings.Split(text, ", ") {
		kind, name, named := strings.Cut(part, "=")
		c := Component{Type: kind}
		if named {
			c.Name = &name
		}
		all = append(all, c)
	}
	return all
}

// give sets one key of an entity, or removes it when the value is 0.
func give(t *testing.T, e *Enforcer, entity, key string, v float64) {
	t.Helper()
	giveAt(t, e, time.Now(), entity, key, v)
}

func giveAt(t *testing.T, e *Enforcer, now time.Time, entity, key string, v float64) {
	t.Helper()
	op := set(key, v)
	if v == 0 {
		op = remove(key)
	}
	r := e.Alter(context.Background(), now, []Alteration{{parts(entity), []Op{op}}}, false)[0]
	if r.Err != nil {
		t.Fatalf("%s %s=%g: %v", entity, key, v, r.Err)
	}
}

// limitOf is the rate of the bucket that a client pays from; 0 is none.
func limitOf(c *Client, k Kind) float64 {
	b := c.bucket(k)
	if b == nil || b.limit.Load().isUnlimited() {
		return 0
	}
	return b.limit.Load().rate
}

// allDescribed is everything that Describe shows, an entity a line.
func allDescribed(t *testing.T, e *Enforcer, f Filter) string {
	t.Helper()
	return strings.ReplaceAll(described(t, e, f), "; ", "\n")
}

// filter reads "user=alice, client-id default, ip any".
func filter(text string, strict bool) Filter {
	f := Filter{Strict: strict}
	if text == "" {
		return f
	}
	for _, part := range strings.Split(text, ", ") {
		c := FilterComponent{Type: part}
		if kind, name, named := strings.Cut(part, "="); named {
			c = FilterComponent{kind, MatchExact, &name}
		} else if kind, ok := strings.CutSuffix(part, " default"); ok {
			c = FilterComponent{kind, MatchDefault, nil}
		} else if kind, ok := strings.CutSuffix(part, " any"); ok {
			c = FilterComponent{kind, MatchAny, nil}
		}
		f.Components = append(f.Components, c)
	}
	return f
}

// codes are the codes of results, in order.
func codes(results []Result) string {
	var all []string
	for _, r := range results {
		all = append(all, fmt.Sprint(int(code(r.Err))))
	}
	return strings.Join(all, " ")
}

var keyOf = map[Kind]string{
	Produce: kafka.ProducerByteRate, Fetch: kafka.ConsumerByteRate,
	Request: kafka.RequestPercentage, Mutation: kafka.ControllerMutationRate,
}
