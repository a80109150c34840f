package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DeleteGroupsRequest removes groups with their offsets (key 42, KIP-229).
type DeleteGroupsRequest struct {
	GroupsNames []string
}

// Fields is the wire order.
func (m *DeleteGroupsRequest) Fields(c *codec.Cursor) {
	c.Strings("GroupsNames", &m.GroupsNames, "names of the groups")
}

// DeleteGroupsResponse tells which groups were removed.
type DeleteGroupsResponse struct {
	ThrottleTimeMs int32
	Results        []DeleteGroupsResponseResult
}

// Fields is the wire order.
func (m *DeleteGroupsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Results", "DeletableGroupResult", &m.Results, "one answer per group")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DeleteGroupsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DeleteGroupsResponseResult answers for one group.
type DeleteGroupsResponseResult struct {
	GroupID      string
	ErrorCode    kafka.Code
	ErrorMessage *string
}

// Fields is the wire order.
func (m *DeleteGroupsResponseResult) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this group")
	if c.Version >= 3 {
		c.NullString("ErrorMessage", 3, &m.ErrorMessage, "what is wrong, for people")
	}
}
