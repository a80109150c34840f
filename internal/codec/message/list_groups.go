package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// ListGroupsRequest asks which groups there are (key 16, KIP-518, KIP-848).
type ListGroupsRequest struct {
	StatesFilter []string
	TypesFilter  []string
}

// Fields is the wire order.
func (m *ListGroupsRequest) Fields(c *codec.Cursor) {
	if c.Version >= 4 {
		c.Strings("StatesFilter", &m.StatesFilter, "states that are wanted; empty: all")
	}
	if c.Version >= 5 {
		c.Strings("TypesFilter", &m.TypesFilter, "types that are wanted; empty: all")
	}
}

// ListGroupsResponse tells which groups there are.
type ListGroupsResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	Groups         []ListGroupsResponseGroup
}

// Fields is the wire order.
func (m *ListGroupsResponse) Fields(c *codec.Cursor) {
	if c.Version >= 1 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the request")
	codec.Array(c, "Groups", "ListedGroup", &m.Groups, "the groups")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *ListGroupsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// ListGroupsResponseGroup is one group.
type ListGroupsResponseGroup struct {
	GroupID      string
	ProtocolType string
	GroupState   string
	GroupType    string
}

// Fields is the wire order.
func (m *ListGroupsResponseGroup) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	c.String("ProtocolType", &m.ProtocolType, "what the group is for, such as consumer")
	if c.Version >= 4 {
		c.String("GroupState", &m.GroupState, "Empty, PreparingRebalance, CompletingRebalance, Stable or Dead")
	}
	if c.Version >= 5 {
		c.String("GroupType", &m.GroupType, "which protocol the group speaks: classic")
	}
}
