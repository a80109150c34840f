package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// DescribeAcls (key 29, KIP-140, KIP-290): v1-3, flexible from v2. Without an
// authorizer there are no ACLs: 54.
//
// Differs from Kafka: a filter with a number that is not known is 42 (Kafka
// closes the connection); the answer is sorted.
func (h *Handlers) describeAcls(c *call, req *message.DescribeAclsRequest) (*message.DescribeAclsResponse, error) {
	filter := kafka.ACLFilter{
		Type: kafka.ResourceType(req.ResourceTypeFilter), Name: req.ResourceNameFilter, Pattern: kafka.PatternType(req.PatternTypeFilter),
		Principal: req.PrincipalFilter, Host: req.HostFilter, Operation: kafka.Operation(req.Operation), Permission: kafka.Permission(req.PermissionType),
	}
	err := c.mayManage(kafka.OpDescribe)
	if err == nil {
		err = filter.Check()
	}
	resp := &message.DescribeAclsResponse{ErrorCode: c.code(err), ErrorMessage: text(err), Resources: []message.DescribeAclsResponseResource{}}
	if err != nil {
		return resp, nil
	}
	resp.ErrorMessage = new(string)
	const described = 192 // bytes of memory for each, where it stands alone
	if err := c.tellMuch(len(c.image.ACLs()) * described); err != nil {
		return nil, err
	}
	for _, a := range c.image.ACLs() {
		if filter.Matches(a) {
			resp.Resources = withACL(resp.Resources, a)
		}
	}
	return resp, nil
}

// withACL adds an ACL to the last resource, if it is that one's, or to a new
// one.
func withACL(all []message.DescribeAclsResponseResource, a kafka.ACL) []message.DescribeAclsResponseResource {
	kind, pattern := int8(a.Type), int8(a.Pattern)
	if n := len(all); n == 0 || all[n-1].ResourceType != kind || all[n-1].ResourceName != a.Name || all[n-1].PatternType != pattern {
		all = append(all, message.DescribeAclsResponseResource{ResourceType: kind, ResourceName: a.Name, PatternType: pattern})
	}
	last := &all[len(all)-1]
	last.ACLs = append(last.ACLs, message.DescribeAclsResponseACL{
		Principal: a.Principal, Host: a.Host, Operation: int8(a.Operation), PermissionType: int8(a.Permission),
	})
	return all
}
