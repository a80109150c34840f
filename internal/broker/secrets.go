package broker

import (
	"iter"
	"sync"

	"kaasd/internal/auth"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// secrets joins what users log in with: SCRAM credentials set over the Kafka
// API, which win mechanism by mechanism, and the entries of the credentials
// file.
type secrets struct {
	metadata *metadata.Store
	file     *credstore.Store

	mu   sync.Mutex
	last *looks // as they were at the last log-in; nil: there was none
}

// looks is what credentials look like, of each mechanism, with what they were of.
type looks struct {
	change int // of those set over the Kafka API
	file   *credstore.Snapshot
	of     map[kafka.ScramMechanism]*auth.Looks
}

var _ auth.Secrets = (*secrets)(nil)

// Scram is the user's credential for the mechanism.
func (s *secrets) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	if c, ok := s.metadata.Image().Scram(user, m); ok {
		return c, true
	}
	return s.file.Scram(user, m)
}

// Plain is the check of the user's password, which only the file can give.
func (s *secrets) Plain(user string) (check func(password string) bool, ok bool) {
	return s.file.Plain(user)
}

// Looks is what the credentials in force look like. It is found out by the first
// log-in after a change: who gives passwords to ten thousand users one by one does
// not have them counted each time.
func (s *secrets) Looks(m kafka.ScramMechanism) *auth.Looks {
	image, file := s.metadata.Image(), s.file.Snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || s.last.change != image.ScramChange() || s.last.file != file {
		s.last = &looks{image.ScramChange(), file, map[kafka.ScramMechanism]*auth.Looks{}}
		for _, m := range kafka.ScramMechanisms {
			s.last.of[m] = auth.NewLooks(inForce(image, file, m))
		}
	}
	return s.last.of[m]
}

// inForce is every credential of the mechanism that a log-in can end against.
func inForce(image *metadata.Image, file *credstore.Snapshot, m kafka.ScramMechanism) iter.Seq[kafka.ScramCredential] {
	return func(yield func(kafka.ScramCredential) bool) {
		for _, c := range image.Scrams(m) {
			if !yield(c) {
				return
			}
		}
		for name := range file.Users {
			c, ok := file.Scram(name, m)
			if _, hidden := image.Scram(name, m); ok && !hidden && !yield(c) {
				return
			}
		}
	}
}
