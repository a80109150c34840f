package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// SaslHandshake (key 17, KIP-43, KIP-152): v0-1, never flexible. After version
// 0 the tokens come as frames without a header.
func (h *Handlers) saslHandshake(c *call, req *message.SaslHandshakeRequest) (*message.SaslHandshakeResponse, error) {
	resp := &message.SaslHandshakeResponse{Mechanisms: h.Mechanisms}
	begin := c.begin
	if c.Established() {
		if !c.mayRenew(c.header.Version, c.now) {
			resp.ErrorCode = c.code(errLoggedIn)
			return resp, nil
		}
		begin = c.renew
	}
	if err := begin(req.Mechanism); err != nil {
		resp.ErrorCode = c.code(err)
		c.answer.Close = true
		return resp, nil
	}
	c.sasl.state = saslTokens
	if c.header.Version == 0 {
		c.sasl.state = saslRaw
	}
	return resp, nil
}

var errLoggedIn = kafka.Errorf(kafka.IllegalSASLState, "there is nothing to log in to: the connection is past authentication")
