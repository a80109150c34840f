package broker

import (
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
}

var _ auth.Secrets = secrets{}

// Scram is the user's credential for the mechanism.
func (s secrets) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	if c, ok := s.metadata.Image().Scram(user, m); ok {
		return c, true
	}
	return s.file.Scram(user, m)
}

// Plain is the check of the user's password, which only the file can give.
func (s secrets) Plain(user string) (check func(password string) bool, ok bool) {
	return s.file.Plain(user)
}
