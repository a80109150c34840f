package quota

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"kaasd/internal/kafka"
)

// Limits is the values of one entity by quota key.
type Limits map[string]float64

// keys are the keys in order.
func (l Limits) keys() []string { return slices.Sorted(maps.Keys(l)) }

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
		return k.refuse(v, "it is too large for a 64-bit integer")
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
