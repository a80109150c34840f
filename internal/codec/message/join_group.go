package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// JoinGroupRequest makes a client a member of a group (key 11).
type JoinGroupRequest struct {
	GroupID            string
	SessionTimeoutMs   int32
	RebalanceTimeoutMs int32
	MemberID           string
	GroupInstanceID    *string
	ProtocolType       string
	Protocols          []JoinGroupProtocol
	Reason             *string
}

// Fields is the wire order.
func (m *JoinGroupRequest) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	c.Int32("SessionTimeoutMs", &m.SessionTimeoutMs, "how long the member may be silent, in ms")
	if c.Version >= 1 {
		c.Int32("RebalanceTimeoutMs", &m.RebalanceTimeoutMs, "how long the member may take to join again, in ms")
	} else {
		codec.Default(c, &m.RebalanceTimeoutMs, -1)
	}
	c.String("MemberId", &m.MemberID, "id of the member; empty: it has none yet")
	if c.Version >= 5 {
		c.NullString("GroupInstanceId", 5, &m.GroupInstanceID, "name of a static member; null: a dynamic one")
	}
	c.String("ProtocolType", &m.ProtocolType, "what the group is for, such as consumer")
	codec.Array(c, "Protocols", "JoinGroupRequestProtocol", &m.Protocols, "assignors the member knows, the one it likes best first")
	if c.Version >= 8 {
		c.NullString("Reason", 8, &m.Reason, "why the member joins, for people")
	}
}

// JoinGroupProtocol is one assignor that a member knows.
type JoinGroupProtocol struct {
	Name     string
	Metadata []byte
}

// Fields is the wire order.
func (m *JoinGroupProtocol) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the assignor")
	c.Bytes("Metadata", &m.Metadata, "what the assignor needs to know of the member")
}

// JoinGroupResponse tells the member its generation, and the leader everybody
// to assign to.
type JoinGroupResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	GenerationID   int32
	ProtocolType   *string
	ProtocolName   *string
	Leader         string
	SkipAssignment bool
	MemberID       string
	Members        []JoinGroupResponseMember
}

// Fields is the wire order.
func (m *JoinGroupResponse) Fields(c *codec.Cursor) {
	if c.Version >= 2 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the request")
	c.Int32("GenerationId", &m.GenerationID, "generation of the group; -1 with an error")
	if c.Version >= 7 {
		c.NullString("ProtocolType", 7, &m.ProtocolType, "what the group is for")
	}
	c.NullString("ProtocolName", 7, &m.ProtocolName, "assignor that all members know")
	c.String("Leader", &m.Leader, "id of the member that assigns")
	if c.Version >= 9 {
		c.Bool("SkipAssignment", &m.SkipAssignment, "the leader need not assign again")
	}
	c.String("MemberId", &m.MemberID, "id of the member")
	codec.Array(c, "Members", "JoinGroupResponseMember", &m.Members, "everybody, for the leader; empty for others")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *JoinGroupResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// JoinGroupResponseMember is one member to assign to.
type JoinGroupResponseMember struct {
	MemberID        string
	GroupInstanceID *string
	Metadata        []byte
}

// Fields is the wire order.
func (m *JoinGroupResponseMember) Fields(c *codec.Cursor) {
	c.String("MemberId", &m.MemberID, "id of the member")
	if c.Version >= 5 {
		c.NullString("GroupInstanceId", 5, &m.GroupInstanceID, "name of a static member; null: a dynamic one")
	}
	c.Bytes("Metadata", &m.Metadata, "what the assignor needs to know of the member")
}
