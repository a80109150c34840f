package kafka

import (
	"fmt"
	"strings"
)

// PatternType says how a resource name in an ACL is meant (KIP-290), by its
// number in the protocol.
type PatternType int8

// The pattern types. Any and Match stand in filters only: Match is every
// pattern that applies to a name.
const (
	PatternUnknown  PatternType = 0
	PatternAny      PatternType = 1
	PatternMatch    PatternType = 2
	PatternLiteral  PatternType = 3
	PatternPrefixed PatternType = 4
)

var patternNames = []string{"UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"}

// String is Kafka's name of the pattern type, or its number.
func (p PatternType) String() string { return nameOf(patternNames, int(p)) }

// Permission is what an ACL does, by its number in the protocol.
type Permission int8

// The permissions. Any stands in filters only.
const (
	PermissionUnknown Permission = 0
	PermissionAny     Permission = 1
	PermissionDeny    Permission = 2
	PermissionAllow   Permission = 3
)

var permissionNames = []string{"UNKNOWN", "ANY", "DENY", "ALLOW"}

// String is Kafka's name of the permission, or its number.
func (p Permission) String() string { return nameOf(permissionNames, int(p)) }

// Wildcard is the resource name and the host that stand for all, and the name
// in the principal that stands for everybody.
const Wildcard = "*"

// ACL is one rule: who may, or may not, do what from where to what. Two rules
// with the same fields are the same rule.
type ACL struct {
	Type       ResourceType
	Name       string
	Pattern    PatternType
	Principal  string // Type:name
	Host       string // an address, or Wildcard
	Operation  Operation
	Permission Permission
}

// Check says why there can be no such rule (InvalidRequest).
func (a ACL) Check() error {
	switch {
	case a.Type < ResourceTopic || a.Type > ResourceUser:
		return Errorf(InvalidRequest, "an ACL cannot be for resources of type %s", a.Type)
	case a.Pattern != PatternLiteral && a.Pattern != PatternPrefixed:
		return Errorf(InvalidRequest, "an ACL cannot have the pattern type %s: LITERAL or PREFIXED", a.Pattern)
	case a.Operation < OpAll || a.Operation > OpTwoPhaseCommit:
		return Errorf(InvalidRequest, "an ACL cannot be for the operation %s", a.Operation)
	case a.Permission != PermissionDeny && a.Permission != PermissionAllow:
		return Errorf(InvalidRequest, "an ACL cannot have the permission %s: DENY or ALLOW", a.Permission)
	case a.Name == "":
		return Errorf(InvalidRequest, "the resource name of an ACL is empty")
	case a.Type == ResourceCluster && a.Name != Cluster.Name:
		return Errorf(InvalidRequest, "the cluster's only name is %s, not %q", Cluster.Name, a.Name)
	case !strings.Contains(a.Principal, ":"):
		return Errorf(InvalidRequest, "principal %q of an ACL has no type (such as User:name)", a.Principal)
	case a.Host == "":
		return Errorf(InvalidRequest, "the host of an ACL is empty (%s is every host)", Wildcard)
	}
	return nil
}

// String tells the rule in one line.
func (a ACL) String() string {
	return fmt.Sprintf("%s %s from %s to %s %s:%s %s", a.Permission, a.Principal, a.Host, a.Operation, a.Type, a.Name, a.Pattern)
}

// ACLFilter finds rules. A nil text is any.
type ACLFilter struct {
	Type       ResourceType
	Name       *string
	Pattern    PatternType
	Principal  *string
	Host       *string
	Operation  Operation
	Permission Permission
}

// Check says why nothing can be looked for (InvalidRequest).
func (f ACLFilter) Check() error {
	switch {
	case f.Type < ResourceAny || f.Type > ResourceUser:
		return Errorf(InvalidRequest, "resource type %s of an ACL filter is not known", f.Type)
	case f.Pattern < PatternAny || f.Pattern > PatternPrefixed:
		return Errorf(InvalidRequest, "pattern type %s of an ACL filter is not known", f.Pattern)
	case f.Operation < OpAny || f.Operation > OpTwoPhaseCommit:
		return Errorf(InvalidRequest, "operation %s of an ACL filter is not known", f.Operation)
	case f.Permission < PermissionAny || f.Permission > PermissionAllow:
		return Errorf(InvalidRequest, "permission %s of an ACL filter is not known", f.Permission)
	}
	return nil
}

// Matches says whether the filter finds a rule.
func (f ACLFilter) Matches(a ACL) bool {
	return (f.Type == ResourceAny || f.Type == a.Type) &&
		(f.Operation == OpAny || f.Operation == a.Operation) &&
		(f.Permission == PermissionAny || f.Permission == a.Permission) &&
		(f.Principal == nil || *f.Principal == a.Principal) &&
		(f.Host == nil || *f.Host == a.Host) &&
		f.matchesName(a)
}

func (f ACLFilter) matchesName(a ACL) bool {
	switch {
	case f.Pattern != PatternAny && f.Pattern != PatternMatch && f.Pattern != a.Pattern:
		return false
	case f.Name == nil:
		return true
	case f.Pattern != PatternMatch:
		return *f.Name == a.Name
	case a.Pattern == PatternPrefixed:
		return strings.HasPrefix(*f.Name, a.Name)
	}
	return *f.Name == a.Name || a.Name == Wildcard
}
