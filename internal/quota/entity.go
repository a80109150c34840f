package quota

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kaasd/internal/kafka"
)

// Component is one part of an entity as it is named on the wire.
type Component struct {
	Type string
	Name *string // nil: the default entity of the type
}

// distinct are the components with each type once. Where the model has entities
// of several, the last name of a type wins, as it does in Kafka.
func (m *Model) distinct(all []Component) []Component {
	if m.usersOnly {
		return all
	}
	out := make([]Component, 0, len(all))
	at := make(map[string]int, len(all))
	for _, c := range all {
		if i, again := at[c.Type]; again {
			out[i] = c
			continue
		}
		at[c.Type] = len(out)
		out = append(out, c)
	}
	return out
}

// entity judges the components of an entity that is to be altered.
func (m *Model) entity(components []Component) (kafka.Entity, *kafka.Error) {
	if len(components) == 0 {
		return kafka.Entity{}, kafka.Errorf(kafka.InvalidRequest, "an entity needs a component: %s", m.takes())
	}
	for _, c := range components {
		if !slices.Contains(m.types, c.Type) {
			return kafka.Entity{}, kafka.Errorf(kafka.InvalidRequest, "unhandled entity type %q", c.Type)
		}
		if c.Name != nil && *c.Name == "" {
			return kafka.Entity{}, kafka.Errorf(kafka.InvalidRequest, "empty %s unsupported: a name may not be empty", c.Type)
		}
	}
	e := entityOf(components)
	switch {
	case m.usersOnly && (len(components) > 1 || e != kafka.UserEntity(e.User.Name)):
		return e, kafka.Errorf(kafka.InvalidRequest,
			"%s cannot have a quota of its own, only one named user can (%s allows the others)", show(components), m.allows)
	case e.IP.Present && len(components) > 1:
		return e, kafka.Errorf(kafka.InvalidRequest, "Invalid quota entity combination: an ip stands alone, not in %s", show(components))
	}
	return e, nil
}

// takes names the components of an entity.
func (m *Model) takes() string {
	if m.usersOnly {
		return "user with a name"
	}
	return "user, client-id, both, or ip"
}

// entityOf is the entity that components of known types name.
func entityOf(components []Component) kafka.Entity {
	var e kafka.Entity
	for _, c := range components {
		name := kafka.EntityName{Present: true, Default: true}
		if c.Name != nil {
			name = kafka.Named(*c.Name)
		}
		switch c.Type {
		case kafka.EntityUser:
			e.User = name
		case kafka.EntityClientID:
			e.ClientID = name
		case kafka.EntityIP:
			e.IP = name
		}
	}
	return e
}

// show names components for a message: "client-id c1, user-default", the default of client ids as
// client-default.
func show(components []Component) string {
	var parts []string
	for _, c := range components {
		if c.Name == nil {
			parts = append(parts, strings.TrimSuffix(c.Type, "-id")+"-default")
		} else {
			parts = append(parts, c.Type+" "+strconv.Quote(*c.Name))
		}
	}
	return strings.Join(parts, ", ")
}

// identity is equal for equal entities, whatever the order of components.
func identity(components []Component) string {
	var parts []string
	for _, c := range components {
		if c.Name == nil {
			parts = append(parts, fmt.Sprintf("%q default", c.Type))
		} else {
			parts = append(parts, fmt.Sprintf("%q named %q", c.Type, *c.Name))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// components are those of a stored entity, in Kafka's order.
func components(e kafka.Entity) []Component {
	var out []Component
	add := func(kind string, name kafka.EntityName) {
		switch {
		case !name.Present:
		case name.Default:
			out = append(out, Component{Type: kind})
		default:
			out = append(out, Component{Type: kind, Name: &name.Name})
		}
	}
	add(kafka.EntityUser, e.User)
	add(kafka.EntityClientID, e.ClientID)
	add(kafka.EntityIP, e.IP)
	return out
}
