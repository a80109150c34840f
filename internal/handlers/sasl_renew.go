package handlers

import (
	"errors"
	"time"

	"kaasd/internal/kafka"
)

// Re-authentication (KIP-368): where log-ins have an end, the client is told how
// long its own lasts, and logs in again on the same connection before that is
// over, by the same mechanism and as the same user. Once it is over, every other
// request ends the connection. A new log-in may begin a second after the last new
// one did, and the first of them at any time.
const soonestRenewal = time.Second

// mayRenew says whether a new handshake is in order.
func (s *session) mayRenew(version int16, now time.Time) bool {
	l := s.login.Load()
	return s.h.SessionLifetime > 0 && l != nil && l.sasl && version > 0 && now.Sub(s.renewed) >= soonestRenewal
}

// renew begins a new log-in on a connection that has one.
func (c *call) renew(mechanism string) error {
	if mechanism != c.sasl.mechanism {
		return errOtherMechanism
	}
	c.renewed = c.now
	return c.begin(mechanism)
}

var errOtherMechanism = kafka.Errorf(kafka.IllegalSASLState, "a new log-in on a connection must be by the mechanism of the first one")

// expired says whether the log-in is over.
func (s *session) expired(now time.Time) bool {
	l := s.login.Load()
	return s.h.SessionLifetime > 0 && l != nil && l.sasl && now.Sub(l.at) >= s.h.SessionLifetime
}

var errExpired = errors.New("the log-in is over (connections.max.reauth.ms)")

// mustRenew says whether nothing but a log-in is in order on a connection that
// has one: because one is under way, or because the last one is over.
func (c *call) mustRenew() bool {
	return c.sasl.state == saslTokens || c.expired(c.now)
}
