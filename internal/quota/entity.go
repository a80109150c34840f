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

// entity judges the components of an entity that is to be altered.
func (m *Model) entity(components []Component) (kafka.Entity, *kafka.Error) {
	if len(components) == 0 {
		return kafka.Entity{}, kafka.Errorf(kafka.InvalidRequest, "an entity needs a component: user with a name")
	}
	for _, c := range components {
		if !slices.Contains(m.types, c.Type) {
			return kafka.Entity{}, kafka.Errorf(kafka.InvalidRequest, "unhandled entity type %q", c.Type)
		}
		if c.Name != nil && *c.Name == "" {
			return kafka.Entity{}, kafka.Errorf(kafka.InvalidRequest, "empty %s unsupported: a name may not be empty", c.Type)
		}
	}
	if !m.takes(components) {
		return kafka.Entity{}, kafka.Errorf(kafka.InvalidRequest,
			"%s cannot have a quota of its own, only one named user can (%s allows the others)", show(components), m.allows)
	}
	return kafka.UserEntity(*components[0].Name), nil
}

// takes says whether the components are the alterable ones, each named.
func (m *Model) takes(components []Component) bool {
	if len(components) != len(m.alterable) {
		return false
	}
	return !slices.ContainsFunc(components, func(c Component) bool {
		return c.Name == nil || !slices.Contains(m.alterable, c.Type)
	})
}

// show names components for a message: "client-id c1, user-default".
func show(components []Component) string {
	var parts []string
	for _, c := range components {
		if c.Name == nil {
			parts = append(parts, c.Type+"-default")
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
