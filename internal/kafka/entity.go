package kafka

import "strings"

// The entity types of client quotas (KIP-546, KIP-612).
const (
	EntityUser     = "user"
	EntityClientID = "client-id"
	EntityIP       = "ip"
)

// The quota keys (KIP-13, KIP-124, KIP-599, KIP-612).
const (
	ProducerByteRate       = "producer_byte_rate"       // bytes per second
	ConsumerByteRate       = "consumer_byte_rate"       // bytes per second
	RequestPercentage      = "request_percentage"       // percent of one thread
	ControllerMutationRate = "controller_mutation_rate" // partitions per second
	ConnectionCreationRate = "connection_creation_rate" // connections per second
)

// EntityName is one component of an entity: absent, the default, or a name.
// The literal name "<default>" is an ordinary name.
type EntityName struct {
	Present bool
	Default bool   // with Present: the default entity of the type, Name is empty
	Name    string // byte for byte
}

// Named is the component of that name.
func Named(name string) EntityName { return EntityName{Present: true, Name: name} }

// Entity is the owner of a quota: a set of components, comparable, so that
// it is a map key. The order of components on the wire does not matter.
type Entity struct{ User, ClientID, IP EntityName }

// UserEntity is the entity of one named user.
func UserEntity(name string) Entity { return Entity{User: Named(name)} }

// String names the entity for logs and messages: "user alice, client-id c1",
// "user-default".
func (e Entity) String() string {
	var parts []string
	for _, c := range []struct {
		kind string
		name EntityName
	}{{EntityUser, e.User}, {EntityClientID, e.ClientID}, {EntityIP, e.IP}} {
		switch {
		case !c.name.Present:
		case c.name.Default:
			parts = append(parts, c.kind+"-default")
		default:
			parts = append(parts, c.kind+" "+c.name.Name)
		}
	}
	return strings.Join(parts, ", ")
}
