package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// SaslHandshakeRequest chooses how to log in (key 17, KIP-43).
type SaslHandshakeRequest struct {
	Mechanism string
}

// Fields is the wire order.
func (m *SaslHandshakeRequest) Fields(c *codec.Cursor) {
	c.String("Mechanism", &m.Mechanism, "mechanism the client wants")
}

// SaslHandshakeResponse takes or refuses the mechanism.
type SaslHandshakeResponse struct {
	ErrorCode  kafka.Code
	Mechanisms []string
}

// Fields is the wire order.
func (m *SaslHandshakeResponse) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.Strings("Mechanisms", &m.Mechanisms, "mechanisms the broker takes")
}
