package handlers

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// mayTry refuses a log-in, before anything is looked up for it, where too many
// have failed.
func (s *session) mayTry(user string) *kafka.Error {
	wait := s.h.tries.Wait(s.host, user, time.Now())
	if wait <= 0 {
		return nil
	}
	return errTooMany
}

// errTooMany says nothing of the user: a name that nobody has is held back too.
var errTooMany = kafka.Errorf(kafka.SASLAuthenticationFailed, "authentication failed: too many failed log-ins from this address (the next one is looked at in a few seconds)")

// tellFailure counts a failed log-in and tells the operator, of each address once
// in ten seconds. Of the names that were tried only those of users are told: what
// else is typed into that field may be a password.
func (s *session) tellFailure(err error) {
	user, now := s.sasl.exchange.User(), time.Now()
	tell, untold := s.judgeFailure(err, user, now)
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

// judgeFailure counts a failure that comes from looking at the log-in; one that
// was refused unseen says nothing new.
func (s *session) judgeFailure(err error, user string, now time.Time) (tell bool, untold int) {
	if errors.Is(err, errTooMany) {
		return s.h.tries.Hush(s.host, now)
	}
	return s.h.tries.Fail(s.host, user, now)
}

// hasHeardOf says whether a name is a user's, able to log in or not.
func (h *Handlers) hasHeardOf(user string) bool {
	_, inFile := h.Credentials().Users[user]
	return inFile || h.Metadata.Image().HasScram(user)
}
