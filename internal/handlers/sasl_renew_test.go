package handlers

import (
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/auth"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

const lifetime = 3 * time.Second

func withLifetime(s *setup) {
	s.SessionLifetime = lifetime
	s.credentials = `{"users":[{"username":"alice","authType":"plain","plainPassword":"alice-secret"},{"username":"bob","authType":"plain","plainPassword":"bob-secret"}]}`
}

// renewing is a connection of alice that is inside its second log-in.
func renewing(t *testing.T, r *rig) *peer {
	t.Helper()
	c := r.connectAs("alice")
	time.Sleep(2 * time.Second)
	if resp := handshake(c, 1, auth.Plain); resp.ErrorCode != kafka.NoError || c.last.Close {
		t.Fatalf("the new handshake: %s", resp.ErrorCode)
	}
	return c
}

func metadataOf(c *peer) error {
	_, err := c.try(kafka.KeyMetadata, 1, &message.MetadataRequest{})
	return err
}

// A client that logs in again in time keeps its connection for ever.
func TestRenewedLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRig(t, withLifetime).connectAs("alice")
		for range 5 {
			time.Sleep(lifetime - time.Second)
			if err := metadataOf(c); err != nil {
				t.Fatal(err)
			}
			handshake(c, 1, auth.Plain)
			resp := authenticate(c, 2, "\x00alice\x00alice-secret")
			if resp.ErrorCode != kafka.NoError || resp.SessionLifetimeMs != lifetime.Milliseconds() {
				t.Fatalf("got %s, %d ms", resp.ErrorCode, resp.SessionLifetimeMs)
			}
		}
	})
}

// Once the log-in is over, a handshake is all that is in order.
func TestLoginsThatAreOver(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(*peer) error
	}{
		{"metadata", metadataOf},
		{"versions", func(p *peer) error {
			_, err := p.try(kafka.KeyApiVersions, 0, &message.ApiVersionsRequest{})
			return err
		}},
		{"versions of the future", func(p *peer) error { _, err := p.exchange(versionsFrame(7, 5)); return err }},
		{"a token", func(p *peer) error {
			_, err := p.try(kafka.KeySASLAuthenticate, 1, &message.SaslAuthenticateRequest{AuthBytes: []byte("\x00alice\x00alice-secret")})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, withLifetime)
				over, late := r.connectAs("alice"), r.connectAs("alice")
				time.Sleep(lifetime)
				if err := c.ask(over); err == nil {
					t.Error("answered")
				}
				handshake(late, 1, auth.Plain)
				if resp := authenticate(late, 2, "\x00alice\x00alice-secret"); resp.ErrorCode != kafka.NoError {
					t.Errorf("a late log-in: %s", resp.ErrorCode)
				}
				if err := metadataOf(late); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The log-in of a client that cannot be told its end ends all the same.
func TestRawLoginsAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRig(t, withLifetime).connect(saslListener)
		handshake(c, 0, auth.Plain)
		if _, err := c.exchange([]byte("\x00alice\x00alice-secret")); err != nil {
			t.Fatal(err)
		}
		if err := metadataOf(c); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lifetime)
		if err := metadataOf(c); err == nil {
			t.Error("answered")
		}
	})
}

// What does not fit into a second log-in: answered or not, the connection ends.
func TestRenewalsThatFail(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(*peer) kafka.Code
		want kafka.Code
	}{
		{"another user", func(p *peer) kafka.Code { return authenticate(p, 2, "\x00bob\x00bob-secret").ErrorCode }, kafka.SASLAuthenticationFailed},
		{"a wrong password", func(p *peer) kafka.Code { return authenticate(p, 2, "\x00alice\x00x").ErrorCode }, kafka.SASLAuthenticationFailed},
		{"a second handshake", func(p *peer) kafka.Code { return handshake(p, 1, auth.Plain).ErrorCode }, kafka.IllegalSASLState},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := renewing(t, newRig(t, withLifetime))
				if got := c.ask(p); got != c.want || !p.last.Close {
					t.Errorf("got %s, closed %v", got, p.last.Close)
				}
			})
		})
	}
	t.Run("another request", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if err := metadataOf(renewing(t, newRig(t, withLifetime))); err == nil {
				t.Error("answered")
			}
		})
	})
	t.Run("another mechanism", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newRig(t, withLifetime).connectAs("alice")
			time.Sleep(time.Second)
			if got := handshake(p, 1, auth.ScramSHA512).ErrorCode; got != kafka.IllegalSASLState || !p.last.Close {
				t.Errorf("got %s, closed %v", got, p.last.Close)
			}
		})
	})
}

// The first new log-in may come at once, as in Kafka; from there on it is one a
// second, counted from handshake to handshake.
func TestRenewalsInARow(t *testing.T) {
	const loggingIn = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		c := newRig(t, withLifetime).connectAs("alice")
		for i, step := range []struct {
			after time.Duration
			want  kafka.Code
		}{
			{0, kafka.NoError},
			{time.Second - loggingIn - 1, kafka.IllegalSASLState},
			{1, kafka.NoError},
			{time.Second - loggingIn - 1, kafka.IllegalSASLState},
		} {
			time.Sleep(step.after)
			if got := handshake(c, 1, auth.Plain).ErrorCode; got != step.want || c.last.Close {
				t.Fatalf("handshake %d: %s, closed %v", i, got, c.last.Close)
			}
			if step.want != kafka.NoError {
				if err := metadataOf(c); err != nil {
					t.Fatalf("handshake %d: %v", i, err)
				}
				continue
			}
			time.Sleep(loggingIn)
			if resp := authenticate(c, 2, "\x00alice\x00alice-secret"); resp.ErrorCode != kafka.NoError {
				t.Fatalf("log-in %d: %s", i, resp.ErrorCode)
			}
		}
	})
}

// By a client that cannot know, or where log-ins have no end: refused, and the
// connection stays.
func TestRenewalsOutOfPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		life    time.Duration
		after   time.Duration
		version int16
	}{
		{"version 0", lifetime, 2 * time.Second, 0},
		{"no end", 0, time.Hour, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRig(t, withLifetime, func(s *setup) { s.SessionLifetime = c.life }).connectAs("alice")
				time.Sleep(c.after)
				if got := handshake(p, c.version, auth.Plain).ErrorCode; got != kafka.IllegalSASLState || p.last.Close {
					t.Errorf("got %s, closed %v", got, p.last.Close)
				}
				if err := metadataOf(p); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
