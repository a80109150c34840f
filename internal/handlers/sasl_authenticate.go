package handlers

import "kaasd/internal/codec/message"

// SaslAuthenticate (key 36, KIP-152, KIP-368): v0-2, flexible from v2. A failed
// log-in is answered late, and the connection is closed after the answer. The
// lifetime is that of connections.max.reauth.ms.
func (h *Handlers) saslAuthenticate(c *call, req *message.SaslAuthenticateRequest) (*message.SaslAuthenticateResponse, error) {
	resp := &message.SaslAuthenticateResponse{AuthBytes: []byte{}}
	if c.Established() && c.sasl.state != saslTokens {
		resp.ErrorCode, resp.ErrorMessage = c.code(errLoggedIn), text(errLoggedIn)
		return resp, nil
	}
	reply, err := c.step(req.AuthBytes)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = c.code(err), text(err)
		c.answer.Delay, c.answer.Close = h.FailedLoginDelay, true
		return resp, nil
	}
	resp.AuthBytes, resp.ErrorMessage = reply, new(string)
	if c.sasl.state == saslDone {
		resp.SessionLifetimeMs = h.SessionLifetime.Milliseconds()
	}
	return resp, nil
}
