package quota

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"kaasd/internal/kafka"
)

// Limits is the values of one entity by quota key.
type Limits map[string]float64

// keys are the keys in order.
func (l Limits) keys() []string { return slices.Sorted(maps.Keys(l)) }

// checkOps gives the first fault of the operations, in order, the key before
// the value.
func (m *Model) checkOps(entity kafka.Entity, ops []Op) *kafka.Error {
	seen := map[string]bool{}
	for _, op := range ops {
		k, known := m.key(op.Key)
		known = known && k.ofIP == entity.IP.Present
		switch {
		case !known && !(op.Remove && m.removeUnknown):
			return kafka.Errorf(m.unknownKey, "%s: %s take %s", m.noKey(op.Key), m.takers(entity), m.keyNames(entity))
		case seen[op.Key]:
			return kafka.Errorf(kafka.InvalidRequest, "duplicate quota key %s: an entry may name a key once", op.Key)
		}
		seen[op.Key] = true
		if op.Remove {
			continue
		}
		if err := k.check(op.Value); err != nil {
			return err
		}
	}
	return nil
}

// noKey says of a key which entity or model has it, if there is one.
func (m *Model) noKey(name string) string {
	k, known := m.key(name)
	switch {
	case known && k.ofIP:
		return fmt.Sprintf("quota key %q is one of addresses", name)
	case known:
		return fmt.Sprintf("quota key %q is one of users and client ids", name)
	}
	kafkas := KafkaModel(DefaultWindows())
	if _, known := kafkas.key(name); known && m.allows != "" {
		return fmt.Sprintf("unknown quota key %q (%s has it)", name, m.allows)
	}
	return fmt.Sprintf("unknown quota key %q", name)
}

// takers are the entities that take the same keys as entity.
func (m *Model) takers(entity kafka.Entity) string {
	switch {
	case entity.IP.Present:
		return "addresses"
	case m.usersOnly:
		return "users"
	}
	return "users and client ids"
}

// keyNames are the keys that an entity takes.
func (m *Model) keyNames(entity kafka.Entity) string {
	var names []string
	for _, k := range m.keys {
		if k.ofIP == entity.IP.Present {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, ", ")
}

// maxFraction is how far a whole number may be off (Kafka's epsilon).
const maxFraction = 1e-6

// check says what is wrong with a value of the key, or nil. The fraction is
// the remainder and not the distance to the next whole number, as in Kafka.
func (k *key) check(v float64) *kafka.Error {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return k.refuse(v, "it must be a finite number")
	case v <= 0:
		return k.refuse(v, "it must be above zero")
	case k.highest > 0 && v > k.highest:
		return k.refuse(v, fmt.Sprintf("it is too large for a %d-bit integer", int(math.Round(math.Log2(k.highest)))+1))
	case k.integral && math.Mod(v, 1) > maxFraction:
		return k.refuse(v, "it may not have a fraction")
	case k.integral && math.Round(v) == 0:
		return k.refuse(v, "it must be at least one")
	}
	return nil
}

func (k *key) refuse(v float64, why string) *kafka.Error {
	return kafka.Errorf(kafka.InvalidRequest, "%s=%s is not a quota: %s", k.name, strconv.FormatFloat(v, 'g', -1, 64), why)
}
