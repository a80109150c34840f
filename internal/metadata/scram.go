package metadata

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"kaasd/internal/kafka"
)

// ScramCredentialSet gives a user a SCRAM credential, in place of one of the
// same mechanism. The password is not in it and cannot be had from it.
type ScramCredentialSet struct {
	User       Name                 `json:"user"`
	Mechanism  kafka.ScramMechanism `json:"mechanism"`
	Salt       []byte               `json:"salt"`
	StoredKey  []byte               `json:"storedKey"`
	ServerKey  []byte               `json:"serverKey"`
	Iterations int                  `json:"iterations"`
}

// ScramCredentialRemoved takes a credential from a user.
type ScramCredentialRemoved struct {
	User      Name                 `json:"user"`
	Mechanism kafka.ScramMechanism `json:"mechanism"`
}

func (ScramCredentialSet) kind() string     { return "ScramCredentialSet" }
func (ScramCredentialRemoved) kind() string { return "ScramCredentialRemoved" }

// NewScramCredentialSet is the change that gives a user a credential.
func NewScramCredentialSet(user string, c kafka.ScramCredential) ScramCredentialSet {
	return ScramCredentialSet{
		User: Name(user), Mechanism: c.Mechanism, Salt: c.Salt, StoredKey: c.StoredKey, ServerKey: c.ServerKey, Iterations: c.Iterations,
	}
}

func (c ScramCredentialSet) apply(d *Draft) error {
	switch {
	case !slices.Contains(kafka.ScramMechanisms, c.Mechanism):
		return fmt.Errorf("user %q cannot have a credential of mechanism %d", c.User, c.Mechanism)
	case len(c.StoredKey) != c.Mechanism.KeySize() || len(c.ServerKey) != c.Mechanism.KeySize() || c.Iterations < 1:
		return fmt.Errorf("the %s credential of user %q has keys of %d and %d bytes and %d iterations",
			c.Mechanism, c.User, len(c.StoredKey), len(c.ServerKey), c.Iterations)
	}
	d.hold(c)
	d.scrams.put(scramKey{string(c.User), c.Mechanism}, &kafka.ScramCredential{
		Mechanism: c.Mechanism, Salt: c.Salt, StoredKey: c.StoredKey, ServerKey: c.ServerKey, Iterations: c.Iterations,
	})
	d.scramChange++
	return nil
}

func (c ScramCredentialRemoved) apply(d *Draft) error {
	key := scramKey{string(c.User), c.Mechanism}
	if _, ok := d.scrams.get(key); !ok {
		return kafka.Errorf(kafka.ResourceNotFound, "user %q has no %s credential", c.User, c.Mechanism)
	}
	d.hold(c)
	d.scrams.remove(key)
	d.scramChange++
	return nil
}

func (c ScramCredentialSet) adds(m *Image) (sort entries, bytes int) {
	return scramEntries, bounds[scramEntries].around + len(c.User) + len(c.Salt) - m.scramBytes(scramKey{string(c.User), c.Mechanism})
}

func (c ScramCredentialRemoved) adds(m *Image) (sort entries, bytes int) {
	return scramEntries, -m.scramBytes(scramKey{string(c.User), c.Mechanism})
}

// scramBytes is what a credential counts, 0 if it is not there.
func (m *Image) scramBytes(key scramKey) int {
	c, ok := m.scrams.get(key)
	if !ok {
		return 0
	}
	return bounds[scramEntries].around + len(key.user) + len(c.Salt)
}

func (c ScramCredentialSet) checkSize(m *Image) error {
	switch old, there := m.scrams.get(scramKey{string(c.User), c.Mechanism}); {
	case !there && len(c.User) > kafka.MaxName:
		return kafka.Errorf(kafka.UnacceptableCredential, "the user name %.64q~ has %d bytes: %d is the most", string(c.User), len(c.User), kafka.MaxName)
	case len(c.Salt) > kafka.MaxName && (!there || len(c.Salt) > len(old.Salt)):
		return kafka.Errorf(kafka.UnacceptableCredential, "the salt of user %.64q has %d bytes: %d is the most", string(c.User), len(c.Salt), kafka.MaxName)
	}
	return nil
}

func (ScramCredentialRemoved) checkSize(*Image) error { return nil }

// scramKey names a credential: a user may have one of each mechanism.
type scramKey struct {
	user      string
	mechanism kafka.ScramMechanism
}

func (k scramKey) hash() uint8 { return hashName(k.user) }

// Scram is the credential that a user was given over the Kafka API.
func (m *Image) Scram(user string, mechanism kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	c, ok := m.scrams.get(scramKey{user, mechanism})
	if !ok {
		return kafka.ScramCredential{}, false
	}
	return *c, true
}

// ScramChange counts the changes of SCRAM credentials: images of one store with the
// same number have the same.
func (m *Image) ScramChange() int { return m.scramChange }

// Scrams are the credentials that users were given for the mechanism, by name, in
// no order.
func (m *Image) Scrams(mechanism kafka.ScramMechanism) iter.Seq2[string, kafka.ScramCredential] {
	return func(yield func(string, kafka.ScramCredential) bool) {
		for key, c := range m.scrams.all() {
			if key.mechanism == mechanism && !yield(key.user, *c) {
				return
			}
		}
	}
}

// HasScram says whether a user was given any credential over the Kafka API.
func (m *Image) HasScram(user string) bool {
	for _, mechanism := range kafka.ScramMechanisms {
		if _, ok := m.Scram(user, mechanism); ok {
			return true
		}
	}
	return false
}

// ScramUsers are the users that were given credentials, by name.
func (m *Image) ScramUsers() []string {
	names := map[string]bool{}
	for key := range m.scrams.all() {
		names[key.user] = true
	}
	return slices.Sorted(maps.Keys(names))
}
