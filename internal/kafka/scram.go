package kafka

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
)

// ScramMechanism is a SCRAM variant by its number in the protocol (KIP-554).
type ScramMechanism int8

// The SCRAM mechanisms.
const (
	ScramUnknown ScramMechanism = 0
	ScramSHA256  ScramMechanism = 1
	ScramSHA512  ScramMechanism = 2
)

// ScramMechanisms are those kaasd knows, in order of their numbers.
var ScramMechanisms = []ScramMechanism{ScramSHA256, ScramSHA512}

// What a SCRAM credential set over the Kafka API may be made with (KIP-554).
const (
	MinScramIterations = 4096
	MaxScramIterations = 16384
)

// What a new SCRAM credential is made with.
const (
	ScramIterations = 8192
	ScramSaltSize   = 24 // bytes
)

// String is the mechanism's SASL name.
func (m ScramMechanism) String() string {
	switch m {
	case ScramSHA256:
		return "SCRAM-SHA-256"
	case ScramSHA512:
		return "SCRAM-SHA-512"
	}
	return "UNKNOWN"
}

// Hash makes the hash function H of the mechanism.
func (m ScramMechanism) Hash() hash.Hash {
	if m == ScramSHA256 {
		return sha256.New()
	}
	return sha512.New()
}

// Sum is H(data).
func (m ScramMechanism) Sum(data []byte) []byte {
	h := m.Hash()
	h.Write(data)
	return h.Sum(nil)
}

// HMAC is HMAC(key, text) with the mechanism's hash.
func (m ScramMechanism) HMAC(key []byte, text string) []byte {
	mac := hmac.New(m.Hash, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// KeySize is the length of the mechanism's keys in bytes.
func (m ScramMechanism) KeySize() int { return m.Hash().Size() }

// ScramCredential is what a broker keeps of a password (RFC 5802): enough to
// verify a login, not enough to log in.
type ScramCredential struct {
	Mechanism  ScramMechanism
	Salt       []byte
	StoredKey  []byte // H(ClientKey)
	ServerKey  []byte
	Iterations int
}

// NewScramCredential derives the credential of a password (RFC 5802 section
// 3). The password is taken byte for byte, without SASLprep, as Kafka does.
func NewScramCredential(m ScramMechanism, password string, salt []byte, iterations int) (ScramCredential, error) {
	salted, err := pbkdf2.Key(m.Hash, password, salt, iterations, m.KeySize())
	if err != nil {
		return ScramCredential{}, fmt.Errorf("derive %s keys: %w", m, err)
	}
	return SaltedScramCredential(m, salted, salt, iterations), nil
}

// SaltedScramCredential derives the credential of a password that was salted
// and hashed before: what a broker gets instead of the password (KIP-554).
func SaltedScramCredential(m ScramMechanism, salted, salt []byte, iterations int) ScramCredential {
	return ScramCredential{
		Mechanism:  m,
		Salt:       salt,
		StoredKey:  m.Sum(m.HMAC(salted, "Client Key")),
		ServerKey:  m.HMAC(salted, "Server Key"),
		Iterations: iterations,
	}
}

// String names the kind of credential and none of its keys.
func (c ScramCredential) String() string {
	return fmt.Sprintf("%s, %d iterations", c.Mechanism, c.Iterations)
}
