package auth

import (
	"fmt"
	"strings"
	"sync/atomic"

	"kaasd/internal/kafka"
)

// Caller is who asks for something, and from where.
type Caller struct {
	Principal kafka.Principal
	Host      string // address of the peer, in the form that Host gives
}

// Authorizer is asked before something is done. It must not block and may be
// called by many connections at once.
type Authorizer interface {
	// Authorize says whether the caller may do op to a resource.
	Authorize(who Caller, op kafka.Operation, r kafka.Resource) bool

	// Anywhere says whether there is some resource of a type that the
	// caller may do op to, whether or not it exists.
	Anywhere(who Caller, op kafka.Operation, t kafka.ResourceType) bool
}

// Everyone allows everything: a broker without an authorizer, as in Kafka.
type Everyone struct{}

var _ Authorizer = Everyone{}

// Authorize allows it.
func (Everyone) Authorize(Caller, kafka.Operation, kafka.Resource) bool { return true }

// Anywhere says yes.
func (Everyone) Anywhere(Caller, kafka.Operation, kafka.ResourceType) bool { return true }

// Standard decides as Kafka's StandardAuthorizer: super users may everything;
// else a denial wins over whatever allows; a resource without any ACL is
// allow.everyone.if.no.acl.found's.
type Standard struct {
	super map[kafka.Principal]bool
	rest  bool
	index atomic.Pointer[Index]
}

var _ Authorizer = (*Standard)(nil)

// NewStandard makes an authorizer without ACLs. super.users are in Kafka's
// notation, such as "User:alice;User:CN=app,O=x".
func NewStandard(superUsers string, allowIfNoACL bool) (*Standard, error) {
	s := &Standard{super: map[kafka.Principal]bool{}, rest: allowIfNoACL}
	for entry := range strings.SplitSeq(superUsers, ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		kind, name, found := strings.Cut(entry, ":")
		if !found || kind != kafka.PrincipalUser || name == "" {
			return nil, fmt.Errorf("super.users: %q is not a user (expected User:name, several with a semicolon between them)", entry)
		}
		s.super[kafka.User(name)] = true
	}
	return s, nil
}

// Use puts ACLs in force, in place of all others.
func (s *Standard) Use(x *Index) { s.index.Store(x) }

// Authorize says whether the caller may do op to a resource.
func (s *Standard) Authorize(who Caller, op kafka.Operation, r kafka.Resource) bool {
	if s.super[who.Principal] {
		return true
	}
	switch s.index.Load().judge(who, op, r) {
	case silent:
		return s.rest
	case granted:
		return true
	}
	return false
}

// Anywhere says whether the caller may do op to some resource of a type. A name
// that hardly anybody gives a rule of its own stands for those without rules.
func (s *Standard) Anywhere(who Caller, op kafka.Operation, t kafka.ResourceType) bool {
	return s.Authorize(who, op, kafka.Resource{Type: t, Name: "hardcode"}) || s.index.Load().anywhere(who, op, t)
}
