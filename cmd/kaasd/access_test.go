package main

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/certificate"
	"kaasd/internal/server"
)

// TestAccessWarnings: the start says who comes in without a name, and only then.
func TestAccessWarnings(t *testing.T) {
	for _, c := range []struct {
		name     string
		protocol server.Protocol
		asks     certificate.ClientAuth
		file     string
		want     string
	}{
		{"nobody has a name", server.Plaintext, certificate.None, "", "no credentials file: every client is User:ANONYMOUS"},
		{"users for nothing", server.SSL, certificate.None, "c.json", "no listener asks for a log-in: every client is User:ANONYMOUS"},
		{"names by certificates", server.SSL, certificate.Required, "", ""},
		{"not asked where there is no TLS", server.Plaintext, certificate.Required, "c.json", "no listener asks for a log-in: every client is User:ANONYMOUS"},
		{"log-ins of nobody", server.SASLSSL, certificate.None, "", "no credentials file: nobody can log in"},
		{"log-ins", server.SASLSSL, certificate.None, "c.json", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			core, lines := observer.New(zap.WarnLevel)
			d := &daemon{log: zap.New(core), set: &settings{}}
			d.set.Listeners = []server.Listener{{Name: "L", Protocol: c.protocol}}
			d.set.TLS.ClientAuth, d.set.CredentialsFile, d.set.Access.Enabled = c.asks, c.file, true
			d.announceAccess()
			got := ""
			for _, l := range lines.All() {
				got += l.Message
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
