package quota

import (
	"slices"
	"strings"

	"kaasd/internal/kafka"
)

// The ways a filter component matches (KIP-546).
const (
	MatchExact   int8 = 0
	MatchDefault int8 = 1
	MatchAny     int8 = 2 // named and default entities alike
)

// FilterComponent restricts one entity type.
type FilterComponent struct {
	Type  string
	Match int8
	Name  *string // for MatchExact alone
}

// Filter chooses entities: those that match every component.
type Filter struct {
	Components []FilterComponent
	Strict     bool // nothing but the types of the components
}

// Value is one key with its value.
type Value struct {
	Key   string
	Value float64
}

// Entry is an entity with the values in force for it, sorted by key.
type Entry struct {
	Components []Component
	Values     []Value
}

// Describe gives the entities that match, sorted by name, with what is in
// force for each: the override, else what the credentials file gives. A
// malformed filter is an InvalidRequest error, or UnsupportedVersion for an
// unknown entity type.
func (e *Enforcer) Describe(f Filter) ([]Entry, error) {
	if err := e.model.checkFilter(f); err != nil {
		return nil, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	var entries []Entry
	for _, entity := range e.matching(f) {
		if limits := e.effective(entity); len(limits) > 0 {
			entries = append(entries, Entry{Components: components(entity), Values: limits.values()})
		}
	}
	return entries, nil
}

func (l Limits) values() []Value {
	values := make([]Value, 0, len(l))
	for _, k := range l.keys() {
		values = append(values, Value{Key: k, Value: l[k]})
	}
	return values
}

// checkFilter gives the first fault, component by component.
func (m *Model) checkFilter(f Filter) error {
	seen := map[string]bool{}
	for _, c := range f.Components {
		switch {
		case c.Type == "":
			return kafka.Errorf(kafka.InvalidRequest, "a filter component has an empty entity type")
		case seen[c.Type]:
			return kafka.Errorf(kafka.InvalidRequest, "the filter names entity type %s twice", c.Type)
		case !slices.Contains(m.types, c.Type):
			return kafka.Errorf(kafka.UnsupportedVersion, "custom entity type %q is not supported", c.Type)
		}
		seen[c.Type] = true
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

func (c FilterComponent) check() error {
	switch {
	case c.Match == MatchExact && c.Name == nil:
		return kafka.Errorf(kafka.InvalidRequest, "the filter asks for an exact %s without a name", c.Type)
	case c.Match == MatchDefault && c.Name != nil:
		return kafka.Errorf(kafka.InvalidRequest, "the filter asks for the default %s but names %q", c.Type, *c.Name)
	case c.Match == MatchAny && c.Name != nil:
		return kafka.Errorf(kafka.InvalidRequest, "the filter asks for any %s but names %q", c.Type, *c.Name)
	case c.Match < MatchExact || c.Match > MatchAny:
		return kafka.Errorf(kafka.InvalidRequest, "unknown match type %d of %s: 0 (exact), 1 (default) and 2 (any) are known", c.Match, c.Type)
	}
	return nil
}

// matching are the entities the filter chooses, sorted. With named users
// alone, strict chooses no others: every entity has the one type.
func (e *Enforcer) matching(f Filter) []kafka.Entity {
	if len(f.Components) == 1 && f.Components[0].Match == MatchExact && f.Components[0].Type == kafka.EntityUser {
		return []kafka.Entity{kafka.UserEntity(*f.Components[0].Name)}
	}
	for _, c := range f.Components {
		if c.Match != MatchAny || !slices.Contains(e.model.alterable, c.Type) {
			return nil
		}
	}
	return e.entities()
}

// entities are all that have a setting, sorted by name.
func (e *Enforcer) entities() []kafka.Entity {
	var all []kafka.Entity
	for entity := range e.base {
		all = append(all, entity)
	}
	for entity := range e.overrides {
		if _, twice := e.base[entity]; !twice {
			all = append(all, entity)
		}
	}
	slices.SortFunc(all, compare)
	return all
}

func compare(a, b kafka.Entity) int { return strings.Compare(a.User.Name, b.User.Name) }
