// Package brokertest is a whole broker on loopback for tests, what httptest is
// to net/http: real sockets on free ports, its log in memory or in a
// temporary folder, ended with the test.
package brokertest

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/zap"

	"kaasd/internal/broker"
	"kaasd/internal/server"
)

// Broker is a running broker.
type Broker struct {
	*broker.Broker
	Plain   string // host:port of the listener without a log-in
	SASL    string // host:port of the listener with one
	SSL     string // host:port of a listener with TLS, if a change adds one
	SASLSSL string // host:port of one with TLS and a log-in, if a change adds one
	HTTP    string // host:port of the admin side

	stop func()
}

// Stop ends the broker before the test does, as a signal would, and returns
// when it has ended.
func (b *Broker) Stop() { b.stop() }

// Start runs a broker in memory until the test ends. Each change may bend its
// configuration before it starts.
func Start(t testing.TB, changes ...func(*broker.Config)) *Broker {
	t.Helper()
	return StartLogged(t, zap.NewNop(), changes...)
}

// StartLogged is Start of a broker that logs to log.
func StartLogged(t testing.TB, log *zap.Logger, changes ...func(*broker.Config)) *Broker {
	t.Helper()
	b, err := Try(t, log, changes...)
	if err != nil {
		t.Fatalf("make a broker: %v", err)
	}
	return b
}

// Try is StartLogged of a broker that may not start.
func Try(t testing.TB, log *zap.Logger, changes ...func(*broker.Config)) (*Broker, error) {
	t.Helper()
	cfg := broker.Default()
	cfg.DataDir = broker.InMemory
	cfg.HTTP.Listen = "127.0.0.1:0"
	cfg.SASLMechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
	cfg.Listeners = []server.Listener{
		{Name: "PLAINTEXT", Protocol: server.Plaintext, Address: "127.0.0.1:0", Host: "127.0.0.1"},
		{Name: "SASL_PLAINTEXT", Protocol: server.SASLPlaintext, Address: "127.0.0.1:0", Host: "127.0.0.1"},
	}
	for _, change := range changes {
		change(&cfg)
	}
	b, err := broker.New(cfg, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	select {
	case <-b.Ready():
	case err := <-ended:
		cancel()
		return nil, err
	}
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop the broker: %v", err)
		}
	})
	t.Cleanup(stop)
	return newBroker(b, stop), nil
}

func newBroker(b *broker.Broker, stop func()) *Broker {
	started := &Broker{Broker: b, stop: stop}
	for _, l := range b.Listeners() {
		*started.place(l.Protocol) = l.Address
	}
	if addr := b.HTTPAddr(); addr != nil {
		started.HTTP = addr.String()
	}
	return started
}

// place is where the address of a listener is told.
func (b *Broker) place(p server.Protocol) *string {
	switch p {
	case server.SASLPlaintext:
		return &b.SASL
	case server.SSL:
		return &b.SSL
	case server.SASLSSL:
		return &b.SASLSSL
	}
	return &b.Plain
}
