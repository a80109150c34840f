package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// SyncGroupRequest asks for a member's assignment (key 14); the leader's
// brings everybody's.
type SyncGroupRequest struct {
	GroupID         string
	GenerationID    int32
	MemberID        string
	GroupInstanceID *string
	ProtocolType    *string
	ProtocolName    *string
	Assignments     []SyncGroupAssignment
}

// Fields is the wire order.
func (m *SyncGroupRequest) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	c.Int32("GenerationId", &m.GenerationID, "generation of the group")
	c.String("MemberId", &m.MemberID, "id of the member")
	if c.Version >= 3 {
		c.NullString("GroupInstanceId", 3, &m.GroupInstanceID, "name of a static member; null: a dynamic one")
	}
	if c.Version >= 5 {
		c.NullString("ProtocolType", 5, &m.ProtocolType, "what the group is for, as the member knows it")
		c.NullString("ProtocolName", 5, &m.ProtocolName, "assignor of the generation, as the member knows it")
	}
	codec.Array(c, "Assignments", "SyncGroupRequestAssignment", &m.Assignments, "everybody's assignment, from the leader")
}

// SyncGroupAssignment is what one member gets.
type SyncGroupAssignment struct {
	MemberID   string
	Assignment []byte
}

// Fields is the wire order.
func (m *SyncGroupAssignment) Fields(c *codec.Cursor) {
	c.String("MemberId", &m.MemberID, "id of the member")
	c.Bytes("Assignment", &m.Assignment, "what the member gets")
}

// SyncGroupResponse tells the member what it gets.
type SyncGroupResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	ProtocolType   *string
	ProtocolName   *string
	Assignment     []byte
}

// Fields is the wire order.
func (m *SyncGroupResponse) Fields(c *codec.Cursor) {
	if c.Version >= 1 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the request")
	if c.Version >= 5 {
		c.NullString("ProtocolType", 5, &m.ProtocolType, "what the group is for")
		c.NullString("ProtocolName", 5, &m.ProtocolName, "assignor of the generation")
	}
	c.Bytes("Assignment", &m.Assignment, "what the member gets")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *SyncGroupResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }
