package quota

import (
	"cmp"
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
	if !m.usersOnly && seen[kafka.EntityIP] && len(seen) > 1 {
		return kafka.Errorf(kafka.InvalidRequest, "Invalid entity filter component combination: ip cannot be combined with user or client-id")
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

// matching are the entities the filter chooses, sorted.
func (e *Enforcer) matching(f Filter) []kafka.Entity {
	if e.model.strict && f.Strict {
		if one, ok := f.one(); ok {
			return []kafka.Entity{one}
		}
	}
	var chosen []kafka.Entity
	for _, entity := range e.entities() {
		if f.matches(entity) && (!e.model.strict || !f.Strict || len(components(entity)) == len(f.Components)) {
			chosen = append(chosen, entity)
		}
	}
	slices.SortFunc(chosen, compare)
	return chosen
}

// one is the only entity that a strict filter can choose, if it leaves nothing
// open.
func (f Filter) one() (kafka.Entity, bool) {
	parts := make([]Component, 0, len(f.Components))
	for _, c := range f.Components {
		if c.Match == MatchAny {
			return kafka.Entity{}, false
		}
		parts = append(parts, Component{Type: c.Type, Name: c.Name})
	}
	return entityOf(parts), true
}

func (f Filter) matches(e kafka.Entity) bool {
	for _, c := range f.Components {
		name := nameOf(e, c.Type)
		switch {
		case !name.Present,
			c.Match == MatchExact && (name.Default || name.Name != *c.Name),
			c.Match == MatchDefault && !name.Default:
			return false
		}
	}
	return true
}

func nameOf(e kafka.Entity, kind string) kafka.EntityName {
	switch kind {
	case kafka.EntityUser:
		return e.User
	case kafka.EntityClientID:
		return e.ClientID
	}
	return e.IP
}

// entities are all that have a setting.
func (e *Enforcer) entities() []kafka.Entity {
	all := make([]kafka.Entity, 0, len(e.base)+e.overridden)
	for entity := range e.base {
		all = append(all, entity)
	}
	for _, a := range e.accounts.all {
		if _, twice := e.base[a.owner]; len(a.override) > 0 && !twice {
			all = append(all, a.owner)
		}
	}
	return all
}

// compare sorts addresses after the others, defaults after the named ones, and
// these by name, a user's own before its clients'.
func compare(a, b kafka.Entity) int {
	return cmp.Or(
		order(b.IP.Present, a.IP.Present),
		order(!hasDefault(a), !hasDefault(b)),
		order(a.User.Present, b.User.Present),
		compareNames(a.User, b.User),
		compareNames(a.ClientID, b.ClientID),
		compareNames(a.IP, b.IP),
	)
}

// order puts what is so before what is not.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func hasDefault(e kafka.Entity) bool { return e.User.Default || e.ClientID.Default || e.IP.Default }

func compareNames(a, b kafka.EntityName) int {
	return cmp.Or(order(!a.Present, !b.Present), order(!a.Default, !b.Default), strings.Compare(a.Name, b.Name))
}
