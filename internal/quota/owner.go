package quota

import "kaasd/internal/kafka"

// shape is who shares a bucket, or that an entity is nobody's: a default.
type shape uint8

const (
	ofNobody  shape = iota
	ofPair          // all connections of a user with a client id
	ofUser          // all clients of a user
	ofClient        // all clients with a client id, whoever the user is
	ofAddress       // all connections from an address
)

func isNamed(n kafka.EntityName) bool { return n.Present && !n.Default }

// shapeOf tells what an owner is.
func shapeOf(e kafka.Entity) shape {
	switch {
	case isNamed(e.IP):
		return ofAddress
	case isNamed(e.User) && isNamed(e.ClientID):
		return ofPair
	case isNamed(e.User) && !e.ClientID.Present:
		return ofUser
	case isNamed(e.ClientID) && !e.User.Present:
		return ofClient
	}
	return ofNobody
}

// of is the owner of that shape that a client pays from.
func (s shape) of(user, clientID string) kafka.Entity {
	switch s {
	case ofUser:
		return kafka.UserEntity(user)
	case ofClient:
		return kafka.Entity{ClientID: kafka.Named(clientID)}
	}
	return kafka.Entity{User: kafka.Named(user), ClientID: kafka.Named(clientID)}
}

// sharedBy tells in words who else pays from the owner's buckets.
func sharedBy(owner kafka.Entity) string {
	switch shapeOf(owner) {
	case ofUser:
		return "all clients of " + owner.User.Name
	case ofClient:
		return "all clients with client-id " + owner.ClientID.Name
	case ofAddress:
		return "all connections from " + owner.IP.Name
	}
	return "all connections of " + owner.User.Name + " with client-id " + owner.ClientID.Name
}
