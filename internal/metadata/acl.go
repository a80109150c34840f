package metadata

import (
	"cmp"
	"slices"

	"kaasd/internal/kafka"
)

// aclForm is how the log keeps an ACL. Numbers are those of the protocol.
type aclForm struct {
	Type       kafka.ResourceType `json:"type"`
	Name       Name               `json:"name"`
	Pattern    kafka.PatternType  `json:"pattern"`
	Principal  Name               `json:"principal"`
	Host       Name               `json:"host"`
	Operation  kafka.Operation    `json:"operation"`
	Permission kafka.Permission   `json:"permission"`
}

// ACLCreated adds an ACL.
type ACLCreated struct{ aclForm }

// ACLDeleted takes one away.
type ACLDeleted struct{ aclForm }

// NewACLCreated is the change that adds an ACL.
func NewACLCreated(a kafka.ACL) ACLCreated { return ACLCreated{formOf(a)} }

// NewACLDeleted is the change that takes an ACL away.
func NewACLDeleted(a kafka.ACL) ACLDeleted { return ACLDeleted{formOf(a)} }

func formOf(a kafka.ACL) aclForm {
	return aclForm{a.Type, Name(a.Name), a.Pattern, Name(a.Principal), Name(a.Host), a.Operation, a.Permission}
}

func (f aclForm) acl() kafka.ACL {
	return kafka.ACL{
		Type: f.Type, Name: string(f.Name), Pattern: f.Pattern, Principal: string(f.Principal), Host: string(f.Host),
		Operation: f.Operation, Permission: f.Permission,
	}
}

func (ACLCreated) kind() string { return "ACLCreated" }
func (ACLDeleted) kind() string { return "ACLDeleted" }

// apply takes an ACL that is there already as it is.
func (c ACLCreated) apply(d *Draft) error {
	a := c.acl()
	if err := a.Check(); err != nil {
		return err
	}
	d.hold(c)
	d.acls.put(a, struct{}{})
	d.aclsVersion++
	return nil
}

func (c ACLDeleted) apply(d *Draft) error {
	a := c.acl()
	if !d.HasACL(a) {
		return kafka.Errorf(kafka.ResourceNotFound, "there is no ACL: %s", a)
	}
	d.hold(c)
	d.acls.remove(a)
	d.aclsVersion++
	return nil
}

func (c ACLCreated) adds(m *Image) (sort entries, bytes int) {
	if m.HasACL(c.acl()) {
		return aclEntries, 0
	}
	return aclEntries, c.bytes()
}

func (c ACLDeleted) adds(m *Image) (sort entries, bytes int) {
	if !m.HasACL(c.acl()) {
		return aclEntries, 0
	}
	return aclEntries, -c.bytes()
}

// bytes is what an ACL counts.
func (f aclForm) bytes() int {
	return bounds[aclEntries].around + len(f.Name) + len(f.Principal) + len(f.Host)
}

func (c ACLCreated) checkSize(m *Image) error {
	if m.HasACL(c.acl()) {
		return nil
	}
	for _, part := range []struct {
		called string
		name   Name
	}{{"resource name", c.Name}, {"principal", c.Principal}, {"host", c.Host}} {
		if len(part.name) > kafka.MaxName {
			return kafka.Errorf(kafka.InvalidRequest, "the %s %.64q~ of an ACL has %d bytes: %d is the most", part.called, string(part.name), len(part.name), kafka.MaxName)
		}
	}
	return nil
}

func (ACLDeleted) checkSize(*Image) error { return nil }

// HasACL says whether there is an ACL.
func (m *Image) HasACL(a kafka.ACL) bool {
	_, ok := m.acls.get(a)
	return ok
}

// SameACLs says whether two images of one store have the same ACLs, as far as
// that is known without a look at each: no change of ACLs lies between them.
func (m *Image) SameACLs(other *Image) bool { return m.aclsVersion == other.aclsVersion }

// ACLs are all ACLs, in an order that keeps those of one resource together.
func (m *Image) ACLs() []kafka.ACL {
	var all []kafka.ACL
	for a := range m.acls.all() {
		all = append(all, a)
	}
	slices.SortFunc(all, compareACLs)
	return all
}

func compareACLs(a, b kafka.ACL) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Pattern, b.Pattern),
		cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Permission, b.Permission))
}

func hashACL(a kafka.ACL) uint8 { return hashName(a.Name) ^ hashName(a.Principal) }
