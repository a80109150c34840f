package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeUserScramCredentialsRequest asks which users have SCRAM credentials (key 50, KIP-554).
type DescribeUserScramCredentialsRequest struct {
	Users []DescribeUserScramCredentialsUser
}

// Fields is the wire order.
func (m *DescribeUserScramCredentialsRequest) Fields(c *codec.Cursor) {
	codec.NullArray(c, "Users", "UserName", 0, &m.Users, "users asked for; null or empty: all")
}

// DescribeUserScramCredentialsUser names one user.
type DescribeUserScramCredentialsUser struct {
	Name string
}

// Fields is the wire order.
func (m *DescribeUserScramCredentialsUser) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the user")
}

// DescribeUserScramCredentialsResponse tells mechanisms and iterations, never secrets.
type DescribeUserScramCredentialsResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	ErrorMessage   *string
	Results        []DescribeUserScramCredentialsResponseResult
}

// Fields is the wire order.
func (m *DescribeUserScramCredentialsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.Array(c, "Results", "DescribeUserScramCredentialsResult", &m.Results, "one answer per user")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeUserScramCredentialsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeUserScramCredentialsResponseResult answers for one user.
type DescribeUserScramCredentialsResponseResult struct {
	User            string
	ErrorCode       kafka.Code
	ErrorMessage    *string
	CredentialInfos []DescribeUserScramCredentialsResponseCredential
}

// Fields is the wire order.
func (m *DescribeUserScramCredentialsResponseResult) Fields(c *codec.Cursor) {
	c.String("User", &m.User, "name of the user")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this user")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.Array(c, "CredentialInfos", "CredentialInfo", &m.CredentialInfos, "credentials of the user")
}

// DescribeUserScramCredentialsResponseCredential is one credential.
type DescribeUserScramCredentialsResponseCredential struct {
	Mechanism  int8
	Iterations int32
}

// Fields is the wire order.
func (m *DescribeUserScramCredentialsResponseCredential) Fields(c *codec.Cursor) {
	c.Int8("Mechanism", &m.Mechanism, "1 SCRAM-SHA-256, 2 SCRAM-SHA-512")
	c.Int32("Iterations", &m.Iterations, "how often the password is hashed")
}
