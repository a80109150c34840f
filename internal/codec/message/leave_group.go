package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// LeaveGroupRequest takes a member out of a group (key 13), or from version 3
// on several (KIP-345).
type LeaveGroupRequest struct {
	GroupID  string
	MemberID string
	Members  []LeaveGroupMember
}

// Fields is the wire order.
func (m *LeaveGroupRequest) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	if c.Version <= 2 {
		c.String("MemberId", &m.MemberID, "id of the member")
	} else {
		codec.Array(c, "Members", "MemberIdentity", &m.Members, "members that leave")
	}
}

// LeaveGroupMember is one member that leaves.
type LeaveGroupMember struct {
	MemberID        string
	GroupInstanceID *string
	Reason          *string
}

// Fields is the wire order.
func (m *LeaveGroupMember) Fields(c *codec.Cursor) {
	c.String("MemberId", &m.MemberID, "id of the member; empty: a static one is named")
	c.NullString("GroupInstanceId", 3, &m.GroupInstanceID, "name of a static member; null: a dynamic one")
	if c.Version >= 5 {
		c.NullString("Reason", 5, &m.Reason, "why the member leaves, for people")
	}
}

// LeaveGroupResponse tells who has left.
type LeaveGroupResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	Members        []LeaveGroupResponseMember
}

// Fields is the wire order.
func (m *LeaveGroupResponse) Fields(c *codec.Cursor) {
	if c.Version >= 1 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the request")
	if c.Version >= 3 {
		codec.Array(c, "Members", "MemberResponse", &m.Members, "one answer per member")
	}
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *LeaveGroupResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// LeaveGroupResponseMember answers for one member.
type LeaveGroupResponseMember struct {
	MemberID        string
	GroupInstanceID *string
	ErrorCode       kafka.Code
}

// Fields is the wire order.
func (m *LeaveGroupResponseMember) Fields(c *codec.Cursor) {
	c.String("MemberId", &m.MemberID, "id of the member, as asked")
	c.NullString("GroupInstanceId", 3, &m.GroupInstanceID, "name of a static member, as asked")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this member")
}
