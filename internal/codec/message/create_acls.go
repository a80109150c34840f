package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// CreateAclsRequest adds ACLs (key 30, KIP-140, KIP-290).
type CreateAclsRequest struct {
	Creations []CreateAclsCreation
}

// Fields is the wire order.
func (m *CreateAclsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Creations", "AclCreation", &m.Creations, "ACLs to add")
}

// CreateAclsCreation is one ACL to add.
type CreateAclsCreation struct {
	ResourceType        int8
	ResourceName        string
	ResourcePatternType int8
	Principal           string
	Host                string
	Operation           int8
	PermissionType      int8
}

// Fields is the wire order.
func (m *CreateAclsCreation) Fields(c *codec.Cursor) {
	c.Int8("ResourceType", &m.ResourceType, "type of the resource")
	c.String("ResourceName", &m.ResourceName, "name of the resource, or what it begins with")
	c.Int8("ResourcePatternType", &m.ResourcePatternType, "3 literal, 4 prefixed")
	c.String("Principal", &m.Principal, "who, such as User:alice; User:*: everybody")
	c.String("Host", &m.Host, "from where; *: anywhere")
	c.Int8("Operation", &m.Operation, "what is done; 2: everything")
	c.Int8("PermissionType", &m.PermissionType, "2 deny, 3 allow")
}

// CreateAclsResponse answers for each ACL, in the order asked.
type CreateAclsResponse struct {
	ThrottleTimeMs int32
	Results        []CreateAclsResponseResult
}

// Fields is the wire order.
func (m *CreateAclsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Results", "AclCreationResult", &m.Results, "one answer per ACL")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *CreateAclsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// CreateAclsResponseResult answers for one ACL.
type CreateAclsResponseResult struct {
	ErrorCode    kafka.Code
	ErrorMessage *string
}

// Fields is the wire order.
func (m *CreateAclsResponseResult) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this ACL")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
}
