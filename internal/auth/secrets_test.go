package auth

import (
	"testing"

	"kaasd/internal/kafka"
)

// users is a Secrets of user names and passwords, every one of them good for
// every mechanism.
type users map[string]string

var _ Secrets = users{}

func (u users) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	password, ok := u[user]
	if !ok {
		return kafka.ScramCredential{}, false
	}
	c, err := kafka.NewScramCredential(m, password, []byte("salt of "+user), 4096)
	return c, err == nil
}

func (u users) Plain(user string) (func(string) bool, bool) {
	password, ok := u[user]
	return func(p string) bool { return p == password }, ok
}

var options = Options{SaltKey: []byte("a secret of this broker")}

func begin(t testing.TB, mechanism string, s Secrets) *Exchange {
	t.Helper()
	e, err := NewExchange(mechanism, s, options)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
