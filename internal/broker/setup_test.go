package broker_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/broker"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// withFile gives the broker a credentials file.
func withFile(t *testing.T, content string) func(*broker.Config) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials.json")
	rewrite(t, path, content)
	return func(c *broker.Config) { c.CredentialsFile = path }
}

// rewrite puts content in place of a file in one step.
func rewrite(t *testing.T, path, content string) {
	t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// withFolder keeps the broker's data on disk, so that it can be started again.
func withFolder(t *testing.T) func(*broker.Config) {
	t.Helper()
	return inFolder(t.TempDir())
}

func inFolder(dir string) func(*broker.Config) {
	return func(c *broker.Config) { c.DataDir, c.Storage.DiskReserve = dir, 0 }
}

// dialAs is a peer that has logged in with SASL/PLAIN.
func dialAs(t *testing.T, address, user, password string) *peer {
	t.Helper()
	p := dial(t, address)
	if code := p.logIn(user, password); code != kafka.NoError {
		t.Fatalf("log in as %s: %s", user, code)
	}
	return p
}

func (p *peer) logIn(user, password string) kafka.Code {
	p.t.Helper()
	shake := call[message.SaslHandshakeResponse](p, 1, &message.SaslHandshakeRequest{Mechanism: "PLAIN"})
	if shake.ErrorCode != kafka.NoError {
		p.t.Fatalf("handshake: %s", shake.ErrorCode)
	}
	token := []byte("\x00" + user + "\x00" + password)
	return call[message.SaslAuthenticateResponse](p, 2, &message.SaslAuthenticateRequest{AuthBytes: token}).ErrorCode
}

// startsNot gives the error of a broker that cannot be made.
func startsNot(changes ...func(*broker.Config)) error {
	c := broker.Default()
	c.Listeners[0].Address, c.HTTP.Listen = "127.0.0.1:0", ""
	for _, change := range changes {
		change(&c)
	}
	b, err := broker.New(c, zap.NewNop())
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	return b.Run(ctx)
}

// startDoomed runs a broker that cannot end well, until the test ends, and gives
// the address of its first listener.
func startDoomed(t *testing.T, changes ...func(*broker.Config)) string {
	t.Helper()
	c := broker.Default()
	c.Listeners[0].Address, c.HTTP.Listen = "127.0.0.1:0", ""
	for _, change := range changes {
		change(&c)
	}
	b, err := broker.New(c, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err == nil {
			t.Error("the broker ended well")
		}
	})
	<-b.Ready()
	return b.Listeners()[0].Address
}

func hostPort(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
