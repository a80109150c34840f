package credstore

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"kaasd/internal/kafka"
)

// The kinds of entry that kaasd knows. Entries of other kinds keep their
// quotas and cannot log in.
const (
	AuthScramSHA512    = "scram-sha-512"
	AuthScramSHA256    = "scram-sha-256"
	AuthTLS            = "tls"
	AuthPlain          = "plain"
	AuthServiceAccount = "kubernetes-serviceaccount"
)

// User is one entry of the file. It is shared and must not be changed.
type User struct {
	Username       string
	AuthType       string
	Scram          *kafka.ScramCredential // nil where there are no usable keys
	TLSCN          string                 // "" is none
	ServiceAccount *ServiceAccount
	Quotas         map[string]float64 // by Kafka's key; a key that is not there has no base quota

	password *[sha256.Size]byte // digest of plainPassword; nil is none
	inert    string             // why no log-in is possible, or ""
}

// ServiceAccount names an account of a Kubernetes cluster.
type ServiceAccount struct{ Name, Namespace string }

// CanLogin says whether any log-in is possible for the entry, or why not.
func (u *User) CanLogin() (bool, string) { return u.inert == "", u.inert }

// HasPlainPassword says whether the user may log in with SASL/PLAIN.
func (u *User) HasPlainPassword() bool { return u.password != nil }

// checkPassword compares in a time that does not depend on where the
// passwords differ, nor on the length of the right one.
func (u *User) checkPassword(password string) bool {
	sum := sha256.Sum256([]byte(password))
	return subtle.ConstantTimeCompare(sum[:], u.password[:]) == 1
}

// mechanism is the SCRAM mechanism that an authType stands for.
func mechanism(authType string) kafka.ScramMechanism {
	switch authType {
	case AuthScramSHA512:
		return kafka.ScramSHA512
	case AuthScramSHA256:
		return kafka.ScramSHA256
	}
	return kafka.ScramUnknown
}

// scramAuthType is the authType of a mechanism.
func scramAuthType(m kafka.ScramMechanism) string {
	if m == kafka.ScramSHA256 {
		return AuthScramSHA256
	}
	return AuthScramSHA512
}

// known says whether kaasd knows the kind of entry.
func known(authType string) bool {
	switch authType {
	case AuthScramSHA512, AuthScramSHA256, AuthTLS, AuthPlain, AuthServiceAccount:
		return true
	}
	return false
}

// judge decides how the user can log in. It drops SCRAM keys that are of no
// use and a password that the kind of entry has no use for.
func (u *User) judge() {
	m := mechanism(u.AuthType)
	fault := scramFault(m, u.Scram)
	if fault != "" {
		u.Scram = nil
	}
	if m == kafka.ScramUnknown && u.AuthType != AuthPlain {
		u.password = nil
	}
	switch {
	case u.password != nil || u.Scram != nil:
	case u.AuthType == AuthPlain:
		u.inert = "plainPassword is missing"
	case u.AuthType == AuthTLS && u.TLSCN == "":
		u.inert = "tlsCN is missing"
	case u.AuthType == AuthServiceAccount:
		u.inert = "there is no log-in through service accounts yet"
	case !known(u.AuthType):
		u.inert = fmt.Sprintf("authType %.64q is not known", u.AuthType)
	case m != kafka.ScramUnknown:
		u.inert = fault
	}
}

// scramFault says why the keys are of no use for the mechanism, or "".
func scramFault(m kafka.ScramMechanism, c *kafka.ScramCredential) string {
	switch {
	case m == kafka.ScramUnknown:
		return "not a SCRAM entry"
	case c == nil:
		return "scram is missing"
	case len(c.Salt) == 0:
		return "scram.salt is empty"
	case len(c.StoredKey) != m.KeySize():
		return fmt.Sprintf("scram.storedKey has %d bytes, %s has %d", len(c.StoredKey), m, m.KeySize())
	case len(c.ServerKey) != m.KeySize():
		return fmt.Sprintf("scram.serverKey has %d bytes, %s has %d", len(c.ServerKey), m, m.KeySize())
	}
	c.Mechanism = m
	return ""
}
