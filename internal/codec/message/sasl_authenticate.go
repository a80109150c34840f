package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// SaslAuthenticateRequest carries one message of a login (key 36, KIP-152).
type SaslAuthenticateRequest struct {
	AuthBytes []byte
}

// Fields is the wire order.
func (m *SaslAuthenticateRequest) Fields(c *codec.Cursor) {
	c.Bytes("AuthBytes", &m.AuthBytes, "the mechanism's message")
}

// SaslAuthenticateResponse carries the answer to it.
type SaslAuthenticateResponse struct {
	ErrorCode         kafka.Code
	ErrorMessage      *string
	AuthBytes         []byte
	SessionLifetimeMs int64
}

// Fields is the wire order.
func (m *SaslAuthenticateResponse) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the login")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	c.Bytes("AuthBytes", &m.AuthBytes, "the mechanism's message")
	if c.Version >= 1 {
		c.Int64("SessionLifetimeMs", &m.SessionLifetimeMs, "how long the login lasts, in ms; 0: for ever")
	}
}
