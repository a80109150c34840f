package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// FindCoordinatorRequest asks which broker looks after a group or a
// transaction (key 10): one key, or from version 4 on several (KIP-699).
type FindCoordinatorRequest struct {
	Key             string
	KeyType         int8
	CoordinatorKeys []string
}

// Fields is the wire order.
func (m *FindCoordinatorRequest) Fields(c *codec.Cursor) {
	if c.Version <= 3 {
		c.String("Key", &m.Key, "name of the group, or transactional id")
	}
	if c.Version >= 1 {
		c.Int8("KeyType", &m.KeyType, "what is named: 0 group, 1 transactional id, 2 share group")
	} else {
		codec.Default(c, &m.KeyType, 0)
	}
	if c.Version >= 4 {
		c.Strings("CoordinatorKeys", &m.CoordinatorKeys, "names of the groups, or transactional ids")
	}
}

// FindCoordinatorResponse tells coordinators.
type FindCoordinatorResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	ErrorMessage   *string
	NodeID         int32
	Host           string
	Port           int32
	Coordinators   []FindCoordinatorResponseCoordinator
}

// Fields is the wire order.
func (m *FindCoordinatorResponse) Fields(c *codec.Cursor) {
	if c.Version >= 1 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	if c.Version >= 4 {
		codec.Array(c, "Coordinators", "Coordinator", &m.Coordinators, "one answer per key")
		return
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the request")
	if c.Version >= 1 {
		c.NullString("ErrorMessage", 1, &m.ErrorMessage, "what is wrong, for people")
	}
	c.Int32("NodeId", &m.NodeID, "number of the broker; -1 with an error")
	c.String("Host", &m.Host, "its host")
	c.Int32("Port", &m.Port, "its port")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *FindCoordinatorResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// FindCoordinatorResponseCoordinator is the broker for one key.
type FindCoordinatorResponseCoordinator struct {
	Key          string
	NodeID       int32
	Host         string
	Port         int32
	ErrorCode    kafka.Code
	ErrorMessage *string
}

// Fields is the wire order.
func (m *FindCoordinatorResponseCoordinator) Fields(c *codec.Cursor) {
	c.String("Key", &m.Key, "the key, as asked")
	c.Int32("NodeId", &m.NodeID, "number of the broker; -1 with an error")
	c.String("Host", &m.Host, "its host")
	c.Int32("Port", &m.Port, "its port")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this key")
	c.NullString("ErrorMessage", 4, &m.ErrorMessage, "what is wrong, for people")
}
