package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// CreateAcls (key 30, KIP-140, KIP-290): v1-3, flexible from v2. An ACL is on
// disk and in force before the answer; one that is there already is fine. Every
// ACL, taken or refused, is one line of the audit log. Without an authorizer
// there are no ACLs: 54.
//
// Differs from Kafka: an ACL with a number that is not known is 42 (Kafka closes
// the connection).
func (h *Handlers) createAcls(c *call, req *message.CreateAclsRequest) (*message.CreateAclsResponse, error) {
	if err := tooMany(len(req.Creations)); err != nil {
		return nil, err
	}
	acls := make([]kafka.ACL, len(req.Creations))
	for i, asked := range req.Creations {
		acls[i] = kafka.ACL{
			Type: kafka.ResourceType(asked.ResourceType), Name: asked.ResourceName, Pattern: kafka.PatternType(asked.ResourcePatternType),
			Principal: asked.Principal, Host: asked.Host, Operation: kafka.Operation(asked.Operation), Permission: kafka.Permission(asked.PermissionType),
		}
	}
	faults := c.addACLs(acls)
	resp := &message.CreateAclsResponse{Results: []message.CreateAclsResponseResult{}}
	for i, err := range faults {
		c.auditACL("ACL created", acls[i], err)
		result := message.CreateAclsResponseResult{ErrorCode: c.code(err), ErrorMessage: text(err)}
		if err == nil {
			result.ErrorMessage = new(string)
		}
		resp.Results = append(resp.Results, result)
	}
	return resp, nil
}

// addACLs adds the ACLs that can be, in one commit, and says what is wrong with
// the others.
func (c *call) addACLs(acls []kafka.ACL) []error {
	faults := make([]error, len(acls))
	if err := c.mayManage(kafka.OpAlter); err != nil {
		return failed(faults, err)
	}
	_, err := c.update(func(d *metadata.Draft) error {
		for i, a := range acls {
			if faults[i] = a.Check(); faults[i] == nil && !d.HasACL(a) {
				faults[i] = d.Add(metadata.NewACLCreated(a))
			}
		}
		return nil
	})
	if err != nil {
		return failed(faults, err)
	}
	return faults
}
