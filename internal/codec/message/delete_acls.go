package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DeleteAclsRequest removes the ACLs that filters match (key 31, KIP-140, KIP-290).
type DeleteAclsRequest struct {
	Filters []DeleteAclsFilter
}

// Fields is the wire order.
func (m *DeleteAclsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Filters", "DeleteAclsFilter", &m.Filters, "what to remove")
}

// DeleteAclsFilter matches ACLs.
type DeleteAclsFilter struct {
	ResourceTypeFilter int8
	ResourceNameFilter *string
	PatternTypeFilter  int8
	PrincipalFilter    *string
	HostFilter         *string
	Operation          int8
	PermissionType     int8
}

// Fields is the wire order.
func (m *DeleteAclsFilter) Fields(c *codec.Cursor) {
	c.Int8("ResourceTypeFilter", &m.ResourceTypeFilter, "type of the resource; 1: any")
	c.NullString("ResourceNameFilter", 0, &m.ResourceNameFilter, "name of the resource; null: any")
	c.Int8("PatternTypeFilter", &m.PatternTypeFilter, "1 any, 2 whatever applies to the name, 3 literal, 4 prefixed")
	c.NullString("PrincipalFilter", 0, &m.PrincipalFilter, "who; null: any")
	c.NullString("HostFilter", 0, &m.HostFilter, "from where; null: any")
	c.Int8("Operation", &m.Operation, "what is done; 1: any")
	c.Int8("PermissionType", &m.PermissionType, "1 any, 2 deny, 3 allow")
}

// DeleteAclsResponse answers for each filter, in the order asked.
type DeleteAclsResponse struct {
	ThrottleTimeMs int32
	FilterResults  []DeleteAclsResponseFilterResult
}

// Fields is the wire order.
func (m *DeleteAclsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "FilterResults", "DeleteAclsFilterResult", &m.FilterResults, "one answer per filter")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DeleteAclsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DeleteAclsResponseFilterResult is what one filter removed.
type DeleteAclsResponseFilterResult struct {
	ErrorCode    kafka.Code
	ErrorMessage *string
	MatchingACLs []DeleteAclsResponseMatchingACL
}

// Fields is the wire order.
func (m *DeleteAclsResponseFilterResult) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this filter")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.Array(c, "MatchingAcls", "DeleteAclsMatchingAcl", &m.MatchingACLs, "ACLs that the filter matched")
}

// DeleteAclsResponseMatchingACL is one ACL that was matched.
type DeleteAclsResponseMatchingACL struct {
	ErrorCode      kafka.Code
	ErrorMessage   *string
	ResourceType   int8
	ResourceName   string
	PatternType    int8
	Principal      string
	Host           string
	Operation      int8
	PermissionType int8
}

// Fields is the wire order.
func (m *DeleteAclsResponseMatchingACL) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "why it was not removed")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	c.Int8("ResourceType", &m.ResourceType, "type of the resource")
	c.String("ResourceName", &m.ResourceName, "name of the resource, or what it begins with")
	c.Int8("PatternType", &m.PatternType, "3 literal, 4 prefixed")
	c.String("Principal", &m.Principal, "who")
	c.String("Host", &m.Host, "from where; *: anywhere")
	c.Int8("Operation", &m.Operation, "what is done")
	c.Int8("PermissionType", &m.PermissionType, "2 deny, 3 allow")
}
