package handlers

import (
	"fmt"

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
	if err != nil {
		c.auditRefused(change+": refused", "acl", acl.String, err)
		return
	}
	c.h.audit.Info(change, append(c.who(), zap.Stringer("acl", acl))...)
}

// auditACLFilter writes the line of a filter that was refused.
func (c *call) auditACLFilter(f kafka.ACLFilter, err error) {
	c.auditRefused("ACLs deleted: refused", "filter", func() string { return fmt.Sprintf("%+v", f) }, err)
}
