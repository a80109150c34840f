package handlers

import (
	"go.uber.org/zap"

	"kaasd/internal/auth"
	"kaasd/internal/kafka"
)

// mayManage says whether the caller may do op to the ACLs, of which there are
// none without an authorizer.
func (c *call) mayManage(op kafka.Operation) error {
	if err := c.allow(op, kafka.Cluster); err != nil {
		return err
	}
	if _, none := c.h.Authorizer.(auth.Everyone); none {
		return kafka.Errorf(kafka.SecurityDisabled, "this broker has no authorizer: ACLs need authorizer.class.name")
	}
	return nil
}

// auditACL writes the line that tells who changed which ACL, or why not.
func (c *call) auditACL(change string, acl kafka.ACL, err error) {
	fields := append(c.who(), zap.Stringer("acl", acl))
	if err != nil {
		fields = append(fields, zap.Stringer("code", kafka.CodeOf(err)), zap.String("error", kafka.MessageOf(err)))
		change += ": refused"
	}
	c.h.audit.Info(change, fields...)
}

// auditACLFilter writes the line of a filter that was refused.
func (c *call) auditACLFilter(f kafka.ACLFilter, err error) {
	c.h.audit.Info("ACLs deleted: refused", append(c.who(), zap.Any("filter", f),
		zap.Stringer("code", kafka.CodeOf(err)), zap.String("error", kafka.MessageOf(err)))...)
}
