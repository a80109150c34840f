package credstore

import (
	"maps"
	"slices"
	"strings"

	"kaasd/internal/kafka"
)

// Snapshot is the content of one good file. It is shared and must not be
// changed.
type Snapshot struct {
	Users  map[string]*User // by name, byte for byte
	SHA256 string           // of the file, in hex; "" where there is none

	byCN map[string]*User // of type tls, by tlsCN
}

func emptySnapshot() *Snapshot { return newSnapshot(map[string]*User{}, "") }

func newSnapshot(users map[string]*User, sha256 string) *Snapshot {
	s := &Snapshot{Users: users, SHA256: sha256, byCN: map[string]*User{}}
	for _, u := range users {
		if u.AuthType == AuthTLS && u.TLSCN != "" {
			s.byCN[u.TLSCN] = u
		}
	}
	return s
}

// Sorted is the users by name.
func (s *Snapshot) Sorted() []*User {
	return slices.SortedFunc(maps.Values(s.Users), func(a, b *User) int { return strings.Compare(a.Username, b.Username) })
}

// Scram is the user's credential for the mechanism.
func (s *Snapshot) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	u, ok := s.Users[user]
	if !ok || u.Scram == nil || u.Scram.Mechanism != m {
		return kafka.ScramCredential{}, false
	}
	return *u.Scram, true
}

// Plain is the check of the user's password, where the user may log in with
// SASL/PLAIN.
func (s *Snapshot) Plain(user string) (check func(password string) bool, ok bool) {
	u, ok := s.Users[user]
	if !ok || u.password == nil {
		return nil, false
	}
	return u.checkPassword, true
}

// ByTLSCN is the user of type tls whose certificates bear the name.
func (s *Snapshot) ByTLSCN(name string) (*User, bool) {
	u, ok := s.byCN[name]
	return u, ok
}

// Expelled is the users of old whose sessions end with the change to next:
// they have left the file or changed their authType. New keys are no reason,
// since operators write new salts for the same password.
func Expelled(old, next *Snapshot) []string {
	var names []string
	for name, u := range old.Users {
		if n, ok := next.Users[name]; !ok || n.AuthType != u.AuthType {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// change is what the log says of a swap.
type change struct{ added, removed, quotas int }

func compare(old, next *Snapshot) change {
	var c change
	for name, u := range old.Users {
		n, ok := next.Users[name]
		switch {
		case !ok && len(u.Quotas) > 0:
			c.quotas++
			fallthrough
		case !ok:
			c.removed++
		case !maps.Equal(u.Quotas, n.Quotas):
			c.quotas++
		}
	}
	for name, n := range next.Users {
		if _, ok := old.Users[name]; ok {
			continue
		}
		c.added++
		if len(n.Quotas) > 0 {
			c.quotas++
		}
	}
	return c
}
