package auth

import (
	"crypto/rand"
	"fmt"
	"strings"

	"kaasd/internal/kafka"
)

// The SASL mechanisms kaasd can speak.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// Secrets is what an Exchange asks about users. Its methods may be called
// together; what they return is not changed afterwards.
type Secrets interface {
	// Scram is the user's credential for the mechanism.
	Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool)

	// Plain gives the check of the user's password, where the user may log
	// in with PLAIN. The check takes the same time for every password of
	// one length.
	Plain(user string) (check func(password string) bool, ok bool)
}

// Options are what the exchanges of one broker have in common.
type Options struct {
	// SaltKey is a secret of this broker, at least 16 random bytes. Salts
	// of users that do not exist are made from it: the same key gives the
	// same salt for a name at every try.
	SaltKey []byte

	// Looks, when set, is what the credentials of a mechanism look like that are
	// in force. Those of users that do not exist are made up after it.
	Looks func(kafka.ScramMechanism) *Looks

	// Gate, when set, is asked about the name that a log-in is for, before the
	// password or its proof is looked at; an error refuses the log-in.
	Gate func(user string) *kafka.Error
}

func (o Options) gate(user string) *kafka.Error {
	if o.Gate == nil {
		return nil
	}
	return o.Gate(user)
}

func (o Options) looks(m kafka.ScramMechanism) *Looks {
	if o.Looks == nil {
		return nil
	}
	return o.Looks(m)
}

// machine is the part of an Exchange that differs by mechanism.
type machine interface {
	// step takes the client's next token; done says that the log-in is
	// complete with this reply.
	step(token []byte) (reply []byte, done bool, err *kafka.Error)
	// user is the name that the log-in is for, "" as long as no token has said
	// so.
	user() string
}

// Exchange is one log-in. Its methods must not be called together.
type Exchange struct {
	machine   machine
	ended     bool
	principal kafka.Principal
}

// NewExchange begins a log-in with the mechanism, or fails with
// UnsupportedSASLMechanism.
func NewExchange(mechanism string, s Secrets, o Options) (*Exchange, error) {
	switch mechanism {
	case Plain:
		return &Exchange{machine: &plainLogin{secrets: s, options: o}}, nil
	case ScramSHA256:
		return &Exchange{machine: newScramLogin(kafka.ScramSHA256, s, o, rand.Text())}, nil
	case ScramSHA512:
		return &Exchange{machine: newScramLogin(kafka.ScramSHA512, s, o, rand.Text())}, nil
	}
	return nil, kafka.Errorf(kafka.UnsupportedSASLMechanism, "SASL mechanism %.64q is not supported here", mechanism)
}

// Step takes the client's next token. The reply may be empty and is never
// nil without an error. After done or an error the exchange is over. The
// token is not kept.
func (e *Exchange) Step(token []byte) (reply []byte, done bool, err error) {
	if e.ended {
		return nil, false, kafka.Errorf(kafka.IllegalSASLState, "the log-in is over, a new handshake is needed")
	}
	reply, done, failure := e.machine.step(token)
	e.ended = done || failure != nil
	if failure != nil {
		return nil, false, failure
	}
	if done {
		e.principal = kafka.User(e.machine.user())
	}
	return reply, done, nil
}

// User is the name that the log-in is for, also if it fails: "" as long as no
// token has said so. Whoever it is may have typed something else, a password
// even, where the name belongs.
func (e *Exchange) User() string { return e.machine.user() }

// Principal is who logged in, once Step said done.
func (e *Exchange) Principal() kafka.Principal { return e.principal }

// ParseMechanisms reads a comma-separated list of mechanisms
// (sasl.enabled.mechanisms), in the order given and each once.
func ParseMechanisms(list string) ([]string, error) {
	var mechanisms []string
	seen := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch name {
		case Plain, ScramSHA256, ScramSHA512:
		default:
			return nil, fmt.Errorf("unknown SASL mechanism %q (known: %s, %s, %s)", name, ScramSHA512, ScramSHA256, Plain)
		}
		if !seen[name] {
			seen[name] = true
			mechanisms = append(mechanisms, name)
		}
	}
	return mechanisms, nil
}

// Refused is the one answer to everything that a wrong name or password can
// cause: it must not say which of the two it was.
func Refused() *kafka.Error {
	return kafka.Errorf(kafka.SASLAuthenticationFailed, "authentication failed: unknown user or wrong password")
}

// malformed refuses a token that is not what the mechanism asks for. The
// reason never holds bytes of the token.
func malformed(mechanism, reason string) *kafka.Error {
	return kafka.Errorf(kafka.SASLAuthenticationFailed, "authentication failed: malformed %s message: %s", mechanism, reason)
}
