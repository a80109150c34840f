package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// HeartbeatRequest says that a member is alive (key 12).
type HeartbeatRequest struct {
	GroupID         string
	GenerationID    int32
	MemberID        string
	GroupInstanceID *string
}

// Fields is the wire order.
func (m *HeartbeatRequest) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	c.Int32("GenerationId", &m.GenerationID, "generation of the group")
	c.String("MemberId", &m.MemberID, "id of the member")
	if c.Version >= 3 {
		c.NullString("GroupInstanceId", 3, &m.GroupInstanceID, "name of a static member; null: a dynamic one")
	}
}

// HeartbeatResponse says whether the member is still one.
type HeartbeatResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
}

// Fields is the wire order.
func (m *HeartbeatResponse) Fields(c *codec.Cursor) {
	if c.Version >= 1 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the request; REBALANCE_IN_PROGRESS: join again")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *HeartbeatResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }
