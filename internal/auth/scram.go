package auth

import (
	"crypto/hmac"
	"crypto/subtle"
	"encoding/base64"
	"strconv"

	"kaasd/internal/kafka"
)

// scramLogin is the server of SCRAM (RFC 5802 section 5).
type scramLogin struct {
	mechanism kafka.ScramMechanism
	secrets   Secrets
	options   Options
	nonce     string // ours, printable, no comma

	first       *clientFirst // nil until the first token
	serverFirst string
	credential  kafka.ScramCredential
	known       bool // the credential is a user's, not made up
}

func newScramLogin(m kafka.ScramMechanism, s Secrets, o Options, nonce string) *scramLogin {
	return &scramLogin{mechanism: m, secrets: s, options: o, nonce: nonce}
}

func (s *scramLogin) user() string {
	if s.first == nil {
		return ""
	}
	return s.first.user
}

func (s *scramLogin) step(token []byte) ([]byte, bool, *kafka.Error) {
	if s.first == nil {
		return s.challenge(string(token))
	}
	return s.verify(string(token))
}

// challenge answers the client's first message with nonce, salt and
// iterations, and holds on to the keys the log-in will end against. The gate is
// asked later: a name that goes on where others are held back would be told from
// them at once.
func (s *scramLogin) challenge(token string) ([]byte, bool, *kafka.Error) {
	first, reason := parseClientFirst(token)
	if reason != "" {
		return nil, false, malformed(s.mechanism.String(), reason)
	}
	if first.authzid != "" && first.authzid != first.user {
		return nil, false, otherIdentity()
	}
	s.first = first
	madeUp := s.madeUp(first.user) // in any case: a known name must not be quicker
	if s.credential, s.known = s.secrets.Scram(first.user, s.mechanism); !s.known {
		s.credential = madeUp
	}
	s.serverFirst = "r=" + first.nonce + s.nonce +
		",s=" + base64.StdEncoding.EncodeToString(s.credential.Salt) +
		",i=" + strconv.Itoa(s.credential.Iterations)
	return []byte(s.serverFirst), false, nil
}

// verify checks the proof and signs the exchange.
func (s *scramLogin) verify(token string) ([]byte, bool, *kafka.Error) {
	final, reason := parseClientFinal(token)
	if reason == "" {
		reason = s.misfit(final)
	}
	if reason != "" {
		return nil, false, malformed(s.mechanism.String(), reason)
	}
	if failure := s.options.gate(s.first.user); failure != nil {
		return nil, false, failure
	}
	text := s.first.bare + "," + s.serverFirst + "," + final.withoutProof
	match := s.proves(final.proof, text)
	signature := s.mechanism.HMAC(s.credential.ServerKey, text)
	if !match || !s.known {
		return nil, false, Refused()
	}
	return []byte("v=" + base64.StdEncoding.EncodeToString(signature)), true, nil
}

// misfit says why the last message does not belong to the first, or "".
//
// librdkafka before 2.6 repeats its own nonce in front of the right one;
// exactly that form is accepted too, since those clients are still about. The
// server's part is checked whole in both.
func (s *scramLogin) misfit(final *clientFinal) string {
	right := s.first.nonce + s.nonce
	switch {
	case final.channel != base64.StdEncoding.EncodeToString([]byte(s.first.header)):
		return "the channel binding does not repeat the header"
	case final.nonce != right && final.nonce != s.first.nonce+right:
		return "the nonce is not the one of this exchange"
	case len(final.proof) != s.mechanism.KeySize():
		return "the proof has the wrong length"
	}
	return ""
}

// proves says whether H(proof XOR HMAC(StoredKey, text)) is StoredKey.
func (s *scramLogin) proves(proof []byte, text string) bool {
	key := s.mechanism.HMAC(s.credential.StoredKey, text)
	subtle.XORBytes(key, key, proof)
	return hmac.Equal(s.mechanism.Sum(key), s.credential.StoredKey)
}

// madeUp is the credential shown for a user that does not exist: it looks as those
// that there are, and its keys match nothing.
func (s *scramLogin) madeUp(user string) kafka.ScramCredential {
	salt, iterations := s.options.looks(s.mechanism).madeUp(s.options.SaltKey, s.mechanism, user)
	none := make([]byte, s.mechanism.KeySize())
	return kafka.ScramCredential{
		Mechanism:  s.mechanism,
		Salt:       salt,
		StoredKey:  none,
		ServerKey:  none,
		Iterations: iterations,
	}
}
