package handlers

import (
	"errors"
	"time"

	"kaasd/internal/kafka"
)

// Re-authentication (KIP-368): where log-ins have an end, the client is told how
// long its own lasts, and logs in again on the same connection before that is
// over, by the same mechanism and as the same user. Once it is over, every other
// request ends the connection. There is one new log-in a second at the most.
const soonestRenewal = time.Second

// mayRenew says whether a new handshake is in order.
func (s *session) mayRenew(version int16, now time.Time) bool {
	l := s.login.Load()
	return s.h.SessionLifetime > 0 && l != nil && l.sasl && version > 0 && now.Sub(l.at) >= soonestRenewal
}

// renew begins a new log-in on a connection that has one.
func (s *session) renew(mechanism string) error {
	if mechanism != s.sasl.mechanism {
		return errOtherMechanism
	}
	return s.begin(mechanism)
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
