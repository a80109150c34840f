package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeGroupsRequest asks for groups and their members (key 15).
type DescribeGroupsRequest struct {
	Groups                      []string
	IncludeAuthorizedOperations bool
}

// Fields is the wire order.
func (m *DescribeGroupsRequest) Fields(c *codec.Cursor) {
	c.Strings("Groups", &m.Groups, "names of the groups")
	if c.Version >= 3 {
		c.Bool("IncludeAuthorizedOperations", &m.IncludeAuthorizedOperations, "tell what the client may do to the groups")
	}
}

// DescribeGroupsResponse tells groups and their members.
type DescribeGroupsResponse struct {
	ThrottleTimeMs int32
	Groups         []DescribeGroupsResponseGroup
}

// Fields is the wire order.
func (m *DescribeGroupsResponse) Fields(c *codec.Cursor) {
	if c.Version >= 1 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	codec.Array(c, "Groups", "DescribedGroup", &m.Groups, "one answer per group")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeGroupsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeGroupsResponseGroup is one group.
type DescribeGroupsResponseGroup struct {
	ErrorCode            kafka.Code
	ErrorMessage         *string
	GroupID              string
	GroupState           string
	ProtocolType         string
	ProtocolData         string
	Members              []DescribeGroupsResponseMember
	AuthorizedOperations int32
}

// Fields is the wire order.
func (m *DescribeGroupsResponseGroup) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this group")
	if c.Version >= 6 {
		c.NullString("ErrorMessage", 6, &m.ErrorMessage, "what is wrong, for people")
	}
	c.String("GroupId", &m.GroupID, "name of the group")
	c.String("GroupState", &m.GroupState, "Empty, PreparingRebalance, CompletingRebalance, Stable or Dead")
	c.String("ProtocolType", &m.ProtocolType, "what the group is for, such as consumer")
	c.String("ProtocolData", &m.ProtocolData, "assignor of the generation, while Stable")
	codec.Array(c, "Members", "DescribedGroupMember", &m.Members, "its members")
	if c.Version >= 3 {
		c.Int32("AuthorizedOperations", &m.AuthorizedOperations, "what the client may do, a bit for each operation")
	} else {
		codec.Default(c, &m.AuthorizedOperations, NoOperations)
	}
}

// DescribeGroupsResponseMember is one member.
type DescribeGroupsResponseMember struct {
	MemberID         string
	GroupInstanceID  *string
	ClientID         string
	ClientHost       string
	MemberMetadata   []byte
	MemberAssignment []byte
}

// Fields is the wire order.
func (m *DescribeGroupsResponseMember) Fields(c *codec.Cursor) {
	c.String("MemberId", &m.MemberID, "id of the member")
	if c.Version >= 4 {
		c.NullString("GroupInstanceId", 4, &m.GroupInstanceID, "name of a static member; null: a dynamic one")
	}
	c.String("ClientId", &m.ClientID, "client id of its last join")
	c.String("ClientHost", &m.ClientHost, "where that came from")
	c.Bytes("MemberMetadata", &m.MemberMetadata, "what the assignor knows of the member, while Stable")
	c.Bytes("MemberAssignment", &m.MemberAssignment, "what the member got, while Stable")
}
