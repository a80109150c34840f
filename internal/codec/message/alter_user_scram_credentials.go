package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// AlterUserScramCredentialsRequest sets and removes SCRAM credentials of users (key 51, KIP-554).
type AlterUserScramCredentialsRequest struct {
	Deletions  []AlterUserScramCredentialsDeletion
	Upsertions []AlterUserScramCredentialsUpsertion
}

// Fields is the wire order.
func (m *AlterUserScramCredentialsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Deletions", "ScramCredentialDeletion", &m.Deletions, "credentials to remove")
	codec.Array(c, "Upsertions", "ScramCredentialUpsertion", &m.Upsertions, "credentials to set")
}

// AlterUserScramCredentialsDeletion removes one credential.
type AlterUserScramCredentialsDeletion struct {
	Name      string
	Mechanism int8
}

// Fields is the wire order.
func (m *AlterUserScramCredentialsDeletion) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the user")
	c.Int8("Mechanism", &m.Mechanism, "1 SCRAM-SHA-256, 2 SCRAM-SHA-512")
}

// AlterUserScramCredentialsUpsertion sets one credential. The password itself
// is not in it.
type AlterUserScramCredentialsUpsertion struct {
	Name           string
	Mechanism      int8
	Iterations     int32
	Salt           []byte
	SaltedPassword []byte
}

// Fields is the wire order.
func (m *AlterUserScramCredentialsUpsertion) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the user")
	c.Int8("Mechanism", &m.Mechanism, "1 SCRAM-SHA-256, 2 SCRAM-SHA-512")
	c.Int32("Iterations", &m.Iterations, "how often the password was hashed")
	c.Bytes("Salt", &m.Salt, "the salt it was hashed with")
	c.Bytes("SaltedPassword", &m.SaltedPassword, "what came of it")
}

// AlterUserScramCredentialsResponse answers for each user.
type AlterUserScramCredentialsResponse struct {
	ThrottleTimeMs int32
	Results        []AlterUserScramCredentialsResponseResult
}

// Fields is the wire order.
func (m *AlterUserScramCredentialsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Results", "AlterUserScramCredentialsResult", &m.Results, "one answer per user")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *AlterUserScramCredentialsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// AlterUserScramCredentialsResponseResult answers for one user.
type AlterUserScramCredentialsResponseResult struct {
	User         string
	ErrorCode    kafka.Code
	ErrorMessage *string
}

// Fields is the wire order.
func (m *AlterUserScramCredentialsResponseResult) Fields(c *codec.Cursor) {
	c.String("User", &m.User, "name of the user")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this user")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
}
