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
		return kafka.Entity{ClientID: kafka.Named(ownerName(clientID))}
	}
	return kafka.Entity{User: kafka.Named(user), ClientID: kafka.Named(ownerName(clientID))}
}

// maxOwnerName is how much of a client id tells owners apart, in bytes. Clients
// choose their ids, up to 32 KiB, and each one gets an account; and who pays must
// show in the first bytes of a frame.
const maxOwnerName = 256

// ownerName is the name under which a client pays that no setting names. Those
// with long ids that begin alike share it.
func ownerName(clientID string) string {
	if len(clientID) <= maxOwnerName {
		return clientID
	}
	return clientID[:maxOwnerName] + "~"
}

// payer is the owner that a client pays from by the value of an entity: itself
// where it names the client.
func (m *Model) payer(by *account, user, clientID string) kafka.Entity {
	if l := &m.levels[by.level]; !l.own() {
		return l.owner.of(user, clientID)
	}
	return by.owner
}

// sharedBy tells in words who else pays from the owner's buckets.
func sharedBy(owner kafka.Entity) string {
	switch shapeOf(owner) {
	case ofUser:
		return "all clients of " + owner.User.Name
	case ofClient:
		return "all clients " + calling(owner.ClientID.Name)
	case ofAddress:
		return "all connections from " + owner.IP.Name
	}
	return "all connections of " + owner.User.Name + " " + calling(owner.ClientID.Name)
}

// calling says what clients call themselves; some say nothing.
func calling(clientID string) string {
	if clientID == "" {
		return "without a client-id"
	}
	return "with client-id " + clientID
}
