package handlers

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/auth"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// lookups counts what is looked up for log-ins.
type lookups struct {
	auth.Secrets
	n int
}

func (a *lookups) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	a.n++
	return a.Secrets.Scram(user, m)
}

func (a *lookups) Plain(user string) (func(string) bool, bool) {
	a.n++
	return a.Secrets.Plain(user)
}

// tryPlain logs in with PLAIN on a connection of its own.
func (r *rig) tryPlain(user, password string) *message.SaslAuthenticateResponse {
	r.t.Helper()
	c := r.connect(saslListener)
	handshake(c, 1, auth.Plain)
	resp := authenticate(c, 2, "\x00"+user+"\x00"+password)
	if (resp.ErrorCode != kafka.NoError) != c.last.Close {
		r.t.Errorf("%s: code %s, closed %v", user, resp.ErrorCode, c.last.Close)
	}
	return resp
}

// After twenty failures the log-ins of a name are refused unseen, whichever the
// password, for as long as it takes a try to come back. Other names go on.
func TestTooManyFailedLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *setup) {
			s.credentials = `{"users":[{"username":"alice","authType":"plain","plainPassword":"right"},{"username":"bob","authType":"plain","plainPassword":"right"}]}`
		})
		count := &lookups{Secrets: r.Secrets}
		r.Secrets = count
		for range 20 {
			if got := r.tryPlain("alice", "wrong"); got.ErrorCode != kafka.SASLAuthenticationFailed || *got.ErrorMessage == errTooMany.Message {
				t.Fatalf("a failure: %s %s", got.ErrorCode, *got.ErrorMessage)
			}
		}
		before := count.n
		for _, password := range []string{"wrong", "right"} {
			if got := r.tryPlain("alice", password); got.ErrorCode != kafka.SASLAuthenticationFailed || *got.ErrorMessage != errTooMany.Message {
				t.Errorf("%s after twenty failures: %s %s", password, got.ErrorCode, deref(got.ErrorMessage))
			}
		}
		if count.n != before {
			t.Errorf("secrets were looked up %d times for log-ins that were refused unseen", count.n-before)
		}
		if got := r.tryPlain("bob", "right"); got.ErrorCode != kafka.NoError {
			t.Errorf("bob: %s", got.ErrorCode)
		}
		time.Sleep(3 * time.Second)
		if got := r.tryPlain("alice", "right"); got.ErrorCode != kafka.NoError {
			t.Errorf("three seconds later: %s", got.ErrorCode)
		}
	})
}

// The gate stands before the proof is looked at: exchanges that were begun before
// are stopped too.
func TestTooManyFailuresDuringALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withUsers)
		c := r.connect(saslListener)
		handshake(c, 1, auth.ScramSHA256)
		first := authenticate(c, 2, "n,,n=alice,r=abc")
		if first.ErrorCode != kafka.NoError {
			t.Fatalf("the first step: %s", first.ErrorCode)
		}
		nonce, _, _ := strings.Cut(string(first.AuthBytes), ",")
		for range 20 {
			r.tryPlain("alice", "wrong")
		}
		resp := authenticate(c, 2, "c=biws,"+nonce+",p="+strings.Repeat("A", 43)+"=")
		if *resp.ErrorMessage != errTooMany.Message {
			t.Errorf("got %s", *resp.ErrorMessage)
		}
	})
}

// Somebody who fails for all names that there are holds back the log-ins of an
// address, but not of those who have logged in from there; and is not told who that
// is.
func TestOneWhoFailsDoesNotLockOutAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(s *setup) {
			s.credentials = `{"users":[{"username":"alice","authType":"plain","plainPassword":"right"},{"username":"bob","authType":"plain","plainPassword":"right"}]}`
		})
		if got := r.tryPlain("alice", "right"); got.ErrorCode != kafka.NoError {
			t.Fatalf("alice: %s", got.ErrorCode)
		}
		time.Sleep(time.Hour)
		for i := range auth.AddressTries {
			if got := r.tryPlain(fmt.Sprintf("u%d", i), "guess"); *got.ErrorMessage == errTooMany.Message {
				t.Fatalf("failure %d is held back", i)
			}
		}
		if got := r.tryPlain("alice", "right"); got.ErrorCode != kafka.NoError {
			t.Errorf("alice: %s", *got.ErrorMessage)
		}
		for _, name := range []string{"bob", "nobody", "alice"} {
			if got := r.tryPlain(name, "wrong"); deref(got.ErrorMessage) != errTooMany.Message {
				t.Errorf("%s: %s", name, deref(got.ErrorMessage))
			}
			c := r.connect(saslListener)
			handshake(c, 1, auth.ScramSHA512)
			if got := authenticate(c, 2, "n,,n="+name+",r=abc"); got.ErrorCode != kafka.NoError {
				t.Errorf("the first step of %s: %s", name, *got.ErrorMessage)
			}
		}
		time.Sleep(time.Minute)
		if got := r.tryPlain("bob", "right"); got.ErrorCode != kafka.NoError {
			t.Errorf("bob, a minute later: %s", *got.ErrorMessage)
		}
	})
}

// One failure of an address in ten seconds is told of, with the name where it is
// a user's: what else is typed there may be a password.
func TestFailedLoginsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withUsers)
		warned := func() []map[string]any {
			var all []map[string]any
			for _, line := range r.lines.TakeAll() {
				if line.Message == "log-in failed" && line.Level == zap.WarnLevel {
					all = append(all, line.ContextMap())
				}
			}
			return all
		}
		r.tryPlain("alice", "wrong")
		r.tryPlain("hunter2-typed-in-the-wrong-place", "alice")
		if got := warned(); len(got) != 1 || got[0]["user"] != "alice" || got[0]["mechanism"] != "PLAIN" || got[0]["peer"] != "10.0.0.7:4711" {
			t.Errorf("got %v", got)
		}
		time.Sleep(10 * time.Second)
		r.tryPlain("hunter2-typed-in-the-wrong-place", "alice")
		if got := warned(); len(got) != 1 || got[0]["unknown_user"] != true || got[0]["suppressed"] != int64(1) || got[0]["user"] != nil {
			t.Errorf("got %v", got)
		}
	})
}

// No line of any level holds what was typed as a name that nobody has.
func TestUnknownNamesAreNotLogged(t *testing.T) {
	r := newRig(t, withUsers)
	for range 25 {
		r.tryPlain("hunter2", "x")
	}
	c := r.connect(saslListener)
	handshake(c, 1, auth.ScramSHA512)
	authenticate(c, 2, "n,,n=hunter2,r=abc")
	c = r.connect(saslListener)
	handshake(c, 0, auth.Plain)
	if _, err := c.exchange([]byte("\x00hunter2\x00x")); err != nil {
		t.Fatal(err)
	}
	for _, line := range r.lines.All() {
		for k, v := range line.ContextMap() {
			if text, ok := v.(string); ok && strings.Contains(text, "hunter2") {
				t.Errorf("%s: %s = %s", line.Message, k, text)
			}
		}
	}
}
