package quota

import (
	"slices"
	"strings"
	"unique"
)

// packed is limits in less room: a map of one or two keys takes a quarter of a
// KiB, and there may be tens of thousands of overrides. Its values are in order of
// their keys and are not written to; keys are strings that all of them share.
type packed []Value

func pack(l Limits) packed {
	if len(l) == 0 {
		return nil
	}
	p := make(packed, 0, len(l))
	for key, v := range l {
		p = append(p, Value{Key: unique.Make(key).Value(), Value: v})
	}
	slices.SortFunc(p, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
	return p
}

// get is the value of a key.
func (p packed) get(key string) (float64, bool) {
	for i := range p {
		if p[i].Key == key {
			return p[i].Value, true
		}
	}
	return 0, false
}

// limits is p as a map of the caller's own, nil without values.
func (p packed) limits() Limits {
	if len(p) == 0 {
		return nil
	}
	l := make(Limits, len(p))
	for _, v := range p {
		l[v.Key] = v.Value
	}
	return l
}
