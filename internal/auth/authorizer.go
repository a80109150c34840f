package auth

import (
	"fmt"
	"strings"

	"kaasd/internal/kafka"
)

// Authorizer is asked before something is done. It must not block and may be
// called by many connections at once.
type Authorizer interface {
	Authorize(p kafka.Principal, op kafka.Operation, r kafka.Resource) bool
}

// Everyone allows everything: a broker without an authorizer, as in Kafka.
type Everyone struct{}

var _ Authorizer = Everyone{}

// Authorize allows it.
func (Everyone) Authorize(kafka.Principal, kafka.Operation, kafka.Resource) bool { return true }

// SuperUsers allows everything to the users of super.users. For the others
// there are no ACLs to be found, so allow.everyone.if.no.acl.found decides.
type SuperUsers struct {
	users map[kafka.Principal]bool
	rest  bool
}

var _ Authorizer = (*SuperUsers)(nil)

// NewSuperUsers reads super.users: Kafka's notation, such as
// "User:alice;User:CN=app,O=x".
func NewSuperUsers(list string, allowIfNoACL bool) (*SuperUsers, error) {
	s := &SuperUsers{users: map[kafka.Principal]bool{}, rest: allowIfNoACL}
	for entry := range strings.SplitSeq(list, ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		kind, name, found := strings.Cut(entry, ":")
		if !found || kind != kafka.PrincipalUser || name == "" {
			return nil, fmt.Errorf("super.users: %q is not a user (expected User:name, several with a semicolon between them)", entry)
		}
		s.users[kafka.User(name)] = true
	}
	return s, nil
}

// Authorize allows everything to a super user.
func (s *SuperUsers) Authorize(p kafka.Principal, _ kafka.Operation, _ kafka.Resource) bool {
	return s.users[p] || s.rest
}
