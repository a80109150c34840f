package handlers

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"kaasd/internal/auth"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// twoUsers may log in: alice with PLAIN and a password that is in the file.
const twoUsers = `{"users":[{"username":"alice","authType":"plain","plainPassword":"alice-secret"},{"username":"carol","authType":"tls","tlsCN":"carol"}]}`

func withUsers(s *setup) { s.credentials = twoUsers }

func handshake(c *peer, version int16, mechanism string) *message.SaslHandshakeResponse {
	c.t.Helper()
	var resp message.SaslHandshakeResponse
	c.get(kafka.KeySASLHandshake, version, &message.SaslHandshakeRequest{Mechanism: mechanism}, &resp)
	return &resp
}

func authenticate(c *peer, version int16, token string) *message.SaslAuthenticateResponse {
	c.t.Helper()
	var resp message.SaslAuthenticateResponse
	c.get(kafka.KeySASLAuthenticate, version, &message.SaslAuthenticateRequest{AuthBytes: []byte(token)}, &resp)
	return &resp
}

// loggedIn is a connection to the listener with SASL that is past it.
func loggedIn(t *testing.T, r *rig) *peer {
	t.Helper()
	if r.users.Users["alice"] == nil {
		other := newRig(t, withUsers)
		r.users, r.Secrets = other.users, other.users
	}
	c := r.connect(saslListener)
	handshake(c, 1, auth.Plain)
	if resp := authenticate(c, 2, "\x00alice\x00alice-secret"); resp.ErrorCode != 0 {
		t.Fatalf("log-in failed with %d", resp.ErrorCode)
	}
	return c
}

func TestLogin(t *testing.T) {
	r := newRig(t, withUsers)
	c := r.connect(saslListener)
	if c.session.Established() {
		t.Error("established before the log-in")
	}
	var versions message.ApiVersionsResponse
	c.get(kafka.KeyApiVersions, 0, &message.ApiVersionsRequest{}, &versions)
	if got, want := len(versions.ApiKeys), len(r.routes.inOrder); got != want {
		t.Errorf("%d keys are told before the log-in, want %d", got, want)
	}
	if diff := cmp.Diff(&message.SaslHandshakeResponse{Mechanisms: []string{"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"}}, handshake(c, 1, auth.Plain)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&message.SaslAuthenticateResponse{ErrorMessage: ptr(""), AuthBytes: []byte{}}, authenticate(c, 2, "\x00alice\x00alice-secret")); diff != "" {
		t.Error(diff)
	}
	if user, ok := LoggedIn(c.session); !ok || user != "alice" || !c.session.Established() || c.last.Delay != 0 || c.last.Close {
		t.Errorf("logged in as %q, %v, answer %+v", user, ok, c.last)
	}
	// What comes after is an ordinary connection: ApiVersions is answered again
	// (trap 7), a second log-in is refused and the connection stays.
	c.get(kafka.KeyApiVersions, 4, &message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}, &versions)
	if got, want := len(versions.ApiKeys), len(r.routes.inOrder); got != want || c.last.Close {
		t.Errorf("%d keys are told after the log-in, want %d", got, want)
	}
	if resp := authenticate(c, 2, "x"); resp.ErrorCode != kafka.IllegalSASLState || c.last.Close {
		t.Errorf("a second log-in: got %d, closed %v", resp.ErrorCode, c.last.Close)
	}
	if resp := handshake(c, 1, auth.Plain); resp.ErrorCode != kafka.IllegalSASLState || c.last.Close {
		t.Errorf("a second handshake: got %d, closed %v", resp.ErrorCode, c.last.Close)
	}
	if got := testutil.ToFloat64(r.metrics.logins.WithLabelValues("OUTSIDE", "PLAIN", "success")); got != 1 {
		t.Errorf("%v log-ins were counted", got)
	}
}

// Nobody can find out from outside whether a user exists.
func TestFailedLoginsLookAlike(t *testing.T) {
	r := newRig(t, withUsers)
	var answers []*message.SaslAuthenticateResponse
	for _, token := range []string{"\x00alice\x00wrong", "\x00nobody\x00wrong", "\x00carol\x00wrong"} {
		c := r.connect(saslListener)
		handshake(c, 1, auth.Plain)
		answers = append(answers, authenticate(c, 2, token))
		if c.last.Delay != 100*time.Millisecond || !c.last.Close || c.session.Established() {
			t.Errorf("%q: delay %v, closed %v, established %v", token, c.last.Delay, c.last.Close, c.session.Established())
		}
	}
	for _, a := range answers {
		if diff := cmp.Diff(answers[0], a); diff != "" || a.ErrorCode != kafka.SASLAuthenticationFailed || a.AuthBytes == nil {
			t.Errorf("got %+v, differs: %s", a, diff)
		}
	}
	if got := testutil.ToFloat64(r.metrics.logins.WithLabelValues("OUTSIDE", "PLAIN", "failure")); got != 3 {
		t.Errorf("%v failures were counted", got)
	}
	for _, line := range r.lines.All() {
		for _, f := range line.Context {
			if strings.Contains(f.String, "wrong\x00") || strings.Contains(f.String, "secret") {
				t.Errorf("a secret was logged: %v", line)
			}
		}
	}
}

func TestUnknownMechanism(t *testing.T) {
	r := newRig(t, withUsers)
	c := r.connect(saslListener)
	want := &message.SaslHandshakeResponse{ErrorCode: kafka.UnsupportedSASLMechanism, Mechanisms: r.Mechanisms}
	if diff := cmp.Diff(want, handshake(c, 1, "OAUTHBEARER")); diff != "" || !c.last.Close {
		t.Errorf("closed %v: %s", c.last.Close, diff)
	}
}

// Everything that is out of order ends the connection.
func TestLoginOutOfOrder(t *testing.T) {
	versions := func(c *peer) (reply, error) {
		return c.try(kafka.KeyApiVersions, 0, &message.ApiVersionsRequest{})
	}
	shake := func(c *peer) (reply, error) {
		return c.try(kafka.KeySASLHandshake, 1, &message.SaslHandshakeRequest{Mechanism: auth.Plain})
	}
	login := func(c *peer) (reply, error) {
		return c.try(kafka.KeySASLAuthenticate, 1, &message.SaslAuthenticateRequest{AuthBytes: []byte("\x00alice\x00alice-secret")})
	}
	topics := func(c *peer) (reply, error) {
		return c.try(kafka.KeyMetadata, 1, &message.MetadataRequest{})
	}
	type step = func(*peer) (reply, error)
	for _, c := range []struct {
		name     string
		first    []step
		last     step
		answered bool // and then closed
	}{
		{"metadata first", nil, topics, false},
		{"authenticate first", nil, login, false},
		{"authenticate after versions", []step{versions}, login, false},
		{"versions twice", []step{versions}, versions, false},
		{"metadata after versions", []step{versions}, topics, false},
		{"metadata after the handshake", []step{versions, shake}, topics, false},
		{"handshake twice", []step{versions, shake}, shake, true},
		{"versions after the handshake", []step{shake}, versions, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := newRig(t, withUsers).connect(saslListener)
			for _, s := range c.first {
				if got, err := s(conn); got.message == nil || err != nil || conn.last.Close {
					t.Fatalf("a good step: answered %v, %v", got.message, err)
				}
			}
			got, err := c.last(conn)
			answered := got.message != nil
			if answered != c.answered || (err == nil) != c.answered || c.answered && !conn.last.Close {
				t.Errorf("answered %v, %v, closed after it %v", answered, err, conn.last.Close)
			}
			if _, ok := LoggedIn(conn.session); ok {
				t.Error("logged in")
			}
		})
	}
}

// A client that asks for a version above ours comes back with one that is
// served, also before its log-in.
func TestVersionsTooNewBeforeLogin(t *testing.T) {
	c := newRig(t, withUsers).connect(saslListener)
	if _, err := c.exchange(versionsFrame(7, 5)); err != nil {
		t.Fatal(err)
	}
	c.get(kafka.KeyApiVersions, 3, &message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}, &message.ApiVersionsResponse{})
	handshake(c, 1, auth.Plain)
	if resp := authenticate(c, 1, "\x00alice\x00alice-secret"); resp.ErrorCode != 0 {
		t.Errorf("got %d", resp.ErrorCode)
	}
}

func TestRawTokens(t *testing.T) {
	t.Run("success", func(t *testing.T) {
		r := newRig(t, withUsers)
		c := r.connect(saslListener)
		handshake(c, 0, auth.Plain)
		reply, err := c.exchange([]byte("alice\x00alice\x00alice-secret"))
		if err != nil || len(reply) != 0 || reply == nil {
			t.Fatalf("got %q, %v", reply, err)
		}
		if user, _ := LoggedIn(c.session); user != "alice" {
			t.Errorf("logged in as %q", user)
		}
		c.get(kafka.KeyMetadata, 1, &message.MetadataRequest{}, &message.MetadataResponse{})
	})
	t.Run("failure", func(t *testing.T) {
		c := newRig(t, withUsers).connect(saslListener)
		handshake(c, 0, auth.Plain)
		reply, err := c.exchange([]byte("\x00alice\x00wrong"))
		if err != nil || reply != nil || !c.last.Close || c.last.Delay != 100*time.Millisecond {
			t.Errorf("got %q, %v, closed %v after %v", reply, err, c.last.Close, c.last.Delay)
		}
	})
	t.Run("an empty token", func(t *testing.T) {
		c := newRig(t, withUsers).connect(saslListener)
		handshake(c, 0, auth.Plain)
		if reply, err := c.exchange(nil); err != nil || reply != nil || !c.last.Close {
			t.Errorf("got %q, %v, closed %v", reply, err, c.last.Close)
		}
	})
}

func TestFrameLimits(t *testing.T) {
	r := newRig(t, withUsers)
	open, closed, produce := r.connect(plainListener), r.connect(saslListener), []byte{0, 0, 0, 9}
	other := []byte{0, 3, 0, 9}
	for _, c := range []struct {
		name string
		conn *peer
		size int
		head []byte
		ok   bool
	}{
		{"512 KiB before the log-in", closed, 512 << 10, other, true},
		{"more before the log-in", closed, 512<<10 + 1, other, false},
		{"more by Produce before the log-in", closed, 600 << 10, produce, false},
		{"2 GiB before the log-in", closed, 1<<31 - 1, other, false},
		{"8 MiB", open, 8 << 20, other, true},
		{"more than 8 MiB", open, 8<<20 + 1, other, false},
		{"100 MiB by Produce", open, 100 << 20, produce, true},
		{"more by Produce", open, 100<<20 + 1, produce, false},
		{"no header", open, 3, []byte{0, 0, 0}, false},
		{"nothing", open, 0, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.conn.session.Admit(c.size, c.head); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

// versionsFrame is an ApiVersions request of a version whose body nobody knows.
func versionsFrame(version int16, correlation int32) []byte {
	frame := []byte{0, 18}
	frame = binary.BigEndian.AppendUint16(frame, uint16(version))
	frame = binary.BigEndian.AppendUint32(frame, uint32(correlation))
	frame = append(frame, 0, 1, 'c', 0) // client id, no tags
	return append(frame, "\xff\xfe\xfd a body of the future"...)
}
