package message_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
)

// TestReset: a message that was reset decodes like a new one, whatever other
// version it held before.
func TestReset(t *testing.T) {
	for _, name := range []string{"Produce", "Fetch"} {
		t.Run(name, func(t *testing.T) {
			a := named(t, name)
			used := a.NewRequest().(codec.Resetter)
			for seed := range uint64(500) {
				r := rand.New(rand.NewPCG(seed, 3))
				v := a.Min + int16(r.IntN(int(a.Max-a.Min)+1))
				m := a.NewRequest()
				fill(r, reflect.ValueOf(m).Elem())
				b := encode(t, a, v, m)

				used.Reset()
				if err := codec.Decode(b, v, a.IsFlexible(v), used.(codec.Message), plenty); err != nil {
					t.Fatal(err)
				}
				fresh := decode(t, a, v, directions(a)[0], b)
				if diff := cmp.Diff(fresh, used, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("v%d: %s", v, diff)
				}
			}
		})
	}
}

// TestResetLetsGo: a produce request that was reset keeps no frame alive.
func TestResetLetsGo(t *testing.T) {
	m := produce(3)
	m.Reset()
	for _, topic := range m.TopicData[:cap(m.TopicData)] {
		for _, p := range topic.PartitionData[:cap(topic.PartitionData)] {
			if diff := cmp.Diff(message.ProducePartition{}, p); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}
