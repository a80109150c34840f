package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"

	"kaasd/internal/kafka"
)

// plainLogin is the mechanism PLAIN (RFC 4616): one message.
type plainLogin struct {
	secrets Secrets
	options Options
	name    string
}

func (p *plainLogin) user() string { return p.name }

func (p *plainLogin) step(token []byte) ([]byte, bool, *kafka.Error) {
	parts := bytes.SplitN(token, []byte{0}, 4) // a token of zeros would have a part for each
	if len(parts) != 3 {
		return nil, false, malformed(Plain, "three parts with a zero byte between them are expected")
	}
	authzid, name, password := string(parts[0]), string(parts[1]), string(parts[2])
	switch {
	case name == "":
		return nil, false, malformed(Plain, "the user name is empty")
	case password == "":
		return nil, false, malformed(Plain, "the password is empty")
	case authzid != "" && authzid != name:
		return nil, false, otherIdentity()
	}
	p.name = name
	if failure := p.options.gate(name); failure != nil {
		return nil, false, failure
	}
	check, ok := p.secrets.Plain(name)
	if !ok {
		check = nobody
	}
	if !check(password) {
		return nil, false, Refused()
	}
	return []byte{}, true, nil
}

// nobody is the password check of a user that does not exist: as much work as
// a real one, and never a match.
func nobody(password string) bool {
	sum := sha256.Sum256([]byte(password))
	subtle.ConstantTimeCompare(sum[:], make([]byte, sha256.Size))
	return false
}

// otherIdentity refuses a log-in that asks to act for another user.
func otherIdentity() *kafka.Error {
	return kafka.Errorf(kafka.SASLAuthenticationFailed, "authentication failed: the authorization id must be empty or the user's own name")
}
