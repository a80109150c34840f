package handlers

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// mayTry refuses a log-in, before the password is looked at, where too many have
// failed.
func (s *session) mayTry(user string) *kafka.Error {
	wait := s.h.tries.Wait(s.host, user, time.Now())
	if wait <= 0 {
		return nil
	}
	return errTooMany
}

// errTooMany says nothing of the user: a name that nobody has is held back too.
var errTooMany = kafka.Errorf(kafka.SASLAuthenticationFailed, "authentication failed: too many failed log-ins from this address (wait for some seconds: what is tried meanwhile is not looked at)")

// failed counts a failed log-in, tells the operator, and gives the answer.
func (s *session) failed(err error) (answer error) {
	user, now := s.sasl.exchange.User(), time.Now()
	if errors.Is(err, errTooMany) {
		tell, untold := s.h.tries.Refuse(s.host, user, now)
		s.tellFailure(err, user, tell, untold)
		return err
	}
	wait, tell, untold := s.h.tries.Fail(s.host, user, now)
	s.tellFailure(err, user, tell, untold)
	if wait > 0 {
		return errTooMany // as to a name that was not looked at
	}
	return err
}

// tellFailure tells the operator of a failed log-in, of each address once in ten
// seconds. Of the names that were tried only those of users are told: what else is
// typed into that field may be a password.
func (s *session) tellFailure(err error, user string, tell bool, untold int) {
	fields := append(s.who(), zap.String("mechanism", s.sasl.mechanism), zap.Error(err))
	if !tell {
		s.h.log.Debug("log-in failed", fields...)
		return
	}
	if user != "" && s.h.hasHeardOf(user) {
		fields = append(fields, zap.String("user", user))
	} else {
		fields = append(fields, zap.Bool("unknown_user", true))
	}
	if untold > 0 {
		fields = append(fields, zap.Int("suppressed", untold))
	}
	s.h.log.Warn("log-in failed", fields...)
}

// hasHeardOf says whether a name is a user's, able to log in or not.
func (h *Handlers) hasHeardOf(user string) bool {
	_, inFile := h.Credentials().Users[user]
	return inFile || h.Metadata.Image().HasScram(user)
}
