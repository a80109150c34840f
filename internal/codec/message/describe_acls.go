package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeAclsRequest asks for the ACLs that a filter matches (key 29, KIP-140, KIP-290).
type DescribeAclsRequest struct {
	ResourceTypeFilter int8
	ResourceNameFilter *string
	PatternTypeFilter  int8
	PrincipalFilter    *string
	HostFilter         *string
	Operation          int8
	PermissionType     int8
}

// Fields is the wire order.
func (m *DescribeAclsRequest) Fields(c *codec.Cursor) {
	c.Int8("ResourceTypeFilter", &m.ResourceTypeFilter, "type of the resource; 1: any")
	c.NullString("ResourceNameFilter", 0, &m.ResourceNameFilter, "name of the resource; null: any")
	c.Int8("PatternTypeFilter", &m.PatternTypeFilter, "1 any, 2 whatever applies to the name, 3 literal, 4 prefixed")
	c.NullString("PrincipalFilter", 0, &m.PrincipalFilter, "who; null: any")
	c.NullString("HostFilter", 0, &m.HostFilter, "from where; null: any")
	c.Int8("Operation", &m.Operation, "what is done; 1: any")
	c.Int8("PermissionType", &m.PermissionType, "1 any, 2 deny, 3 allow")
}

// DescribeAclsResponse lists ACLs by resource.
type DescribeAclsResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	ErrorMessage   *string
	Resources      []DescribeAclsResponseResource
}

// Fields is the wire order.
func (m *DescribeAclsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.Array(c, "Resources", "DescribeAclsResource", &m.Resources, "resources that have matching ACLs")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeAclsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeAclsResponseResource is one resource pattern with its ACLs.
type DescribeAclsResponseResource struct {
	ResourceType int8
	ResourceName string
	PatternType  int8
	ACLs         []DescribeAclsResponseACL
}

// Fields is the wire order.
func (m *DescribeAclsResponseResource) Fields(c *codec.Cursor) {
	c.Int8("ResourceType", &m.ResourceType, "type of the resource")
	c.String("ResourceName", &m.ResourceName, "name of the resource, or what it begins with")
	c.Int8("PatternType", &m.PatternType, "3 literal, 4 prefixed")
	codec.Array(c, "Acls", "AclDescription", &m.ACLs, "its ACLs")
}

// DescribeAclsResponseACL is one ACL.
type DescribeAclsResponseACL struct {
	Principal      string
	Host           string
	Operation      int8
	PermissionType int8
}

// Fields is the wire order.
func (m *DescribeAclsResponseACL) Fields(c *codec.Cursor) {
	c.String("Principal", &m.Principal, "who")
	c.String("Host", &m.Host, "from where; *: anywhere")
	c.Int8("Operation", &m.Operation, "what is done")
	c.Int8("PermissionType", &m.PermissionType, "2 deny, 3 allow")
}
