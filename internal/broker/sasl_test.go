package broker_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
)

// account is an entry of a credentials file.
type account struct {
	name, password string
	mechanism      kafka.ScramMechanism // ScramUnknown: plain
}

func (a account) entry(t *testing.T) map[string]any {
	t.Helper()
	if a.mechanism == kafka.ScramUnknown {
		return map[string]any{"username": a.name, "authType": "plain", "plainPassword": a.password}
	}
	c, err := credstore.NewScram(a.mechanism, a.password)
	if err != nil {
		t.Fatal(err)
	}
	base := base64.StdEncoding.EncodeToString
	return map[string]any{"username": a.name, "authType": strings.ToLower(a.mechanism.String()), "scram": map[string]any{
		"salt": base(c.Salt), "storedKey": base(c.StoredKey), "serverKey": base(c.ServerKey), "iterations": c.Iterations,
	}}
}

func (a account) as() sasl.Mechanism {
	switch a.mechanism {
	case kafka.ScramSHA256:
		return scram.Auth{User: a.name, Pass: a.password}.AsSha256Mechanism()
	case kafka.ScramSHA512:
		return scram.Auth{User: a.name, Pass: a.password}.AsSha512Mechanism()
	}
	return plain.Auth{User: a.name, Pass: a.password}.AsMechanism()
}

// credentials is a file of accounts. SCRAM keys have a new salt each time.
func credentials(t *testing.T, accounts ...account) string {
	t.Helper()
	users := []any{}
	for _, a := range accounts {
		users = append(users, a.entry(t))
	}
	file, err := json.Marshal(map[string]any{"version": 1, "users": users})
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

// Names and passwords with the characters that SCRAM escapes, and others, are
// taken as they are; the user who logs in is the one who is charged.
func TestUsersAreWhoTheyLogInAs(t *testing.T) {
	accounts := []account{
		{"p", "p-secret", kafka.ScramUnknown}, {"s256", "256-secret", kafka.ScramSHA256}, {"s512", "512-secret", kafka.ScramSHA512},
		{"a,b", "p,=x", kafka.ScramSHA512}, {"a=b", "x", kafka.ScramSHA256}, {"a=2Cb", "=2C", kafka.ScramSHA512}, {"\u00fc", "\u00fc", kafka.ScramSHA512},
		{"long", strings.Repeat("p", 200), kafka.ScramSHA512},
	}
	b, _ := startWithFile(t, credentials(t, accounts...))
	admin := dial(t, b.Plain)
	for _, a := range accounts {
		admin.alter(a.name, set(kafka.ProducerByteRate, 1e9))
		client := newClient(t, b.SASL, kgo.SASL(a.as()))
		produceN(t, client, "t", 1, 10)
		if got := scrape(t, b).sum("kaasd_quota_entity_bytes_total", "quota", "produce", "user", a.name); got == 0 {
			t.Errorf("nothing was charged to %q", a.name)
		}
	}
}

func TestBadLogins(t *testing.T) {
	accounts := []account{{"p", "p-secret", kafka.ScramUnknown}, {"s256", "256-secret", kafka.ScramSHA256}, {"s512", "512-secret", kafka.ScramSHA512}}
	b, _ := startWithFile(t, credentials(t, accounts...))
	for _, a := range accounts {
		for _, bad := range []account{{a.name, "wrong", a.mechanism}, {"nobody", a.password, a.mechanism}, {a.name, strings.ToUpper(a.password), a.mechanism}} {
			err := newClient(t, b.SASL, kgo.SASL(bad.as())).Ping(t.Context())
			if !errors.Is(err, kerr.SaslAuthenticationFailed) {
				t.Errorf("%s with %q: got %v", bad.name, bad.password, err)
			}
		}
	}
}

// logInBy goes through an exchange as far as it is answered, and tells every
// answer and how long the last one took.
func logInBy(p *peer, m sasl.Mechanism, between func()) ([]*message.SaslAuthenticateResponse, time.Duration) {
	p.t.Helper()
	call[message.SaslHandshakeResponse](p, 1, &message.SaslHandshakeRequest{Mechanism: m.Name()})
	exchange, token, err := m.Authenticate(p.t.Context(), "localhost")
	if err != nil {
		p.t.Fatal(err)
	}
	var all []*message.SaslAuthenticateResponse
	for {
		sent := time.Now()
		resp := call[message.SaslAuthenticateResponse](p, 2, &message.SaslAuthenticateRequest{AuthBytes: token})
		took := time.Since(sent)
		all = append(all, resp)
		if resp.ErrorCode != kafka.NoError {
			return all, took
		}
		done, next, err := exchange.Challenge(resp.AuthBytes)
		switch {
		case err != nil:
			p.t.Fatal(err)
		case done:
			return all, took
		}
		token = next
		between()
	}
}

// Nobody can find out whether a user exists: as many steps, the same answer, as
// late, and then the end.
func TestFailedLoginsLookAlike(t *testing.T) {
	accounts := []account{{"p", "p-secret", kafka.ScramUnknown}, {"s256", "256-secret", kafka.ScramSHA256}, {"s512", "512-secret", kafka.ScramSHA512}}
	b, _ := startWithFile(t, credentials(t, accounts...))
	for _, a := range accounts {
		var last []*message.SaslAuthenticateResponse
		for _, name := range []string{a.name, "nobody", "somebody"} {
			p := dial(t, b.SASL)
			all, took := logInBy(p, account{name, "wrong", a.mechanism}.as(), func() {})
			if end := all[len(all)-1]; end.ErrorCode != kafka.SASLAuthenticationFailed || took < 100*ms {
				t.Errorf("%s: %s after %v", name, end.ErrorCode, took)
			}
			p.mustEnd()
			if last != nil && len(last) != len(all) {
				t.Errorf("%s: %d answers, %d for the one before", name, len(all), len(last))
			}
			if last != nil {
				if diff := cmp.Diff(last[len(last)-1], all[len(all)-1]); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			last = all
		}
	}
	if got := scrape(t, b).sum("kaasd_authentications_total", "result", "failure"); got != 9 {
		t.Errorf("%v failures were counted, want 9", got)
	}
}

// Messages that no client means end the log-in like a wrong password.
func TestMalformedTokens(t *testing.T) {
	b, _ := startWithFile(t, credentials(t, account{"s512", "512-secret", kafka.ScramSHA512}, account{"p", "p-secret", kafka.ScramUnknown}))
	for _, c := range []struct{ mechanism, token string }{
		{"PLAIN", ""}, {"PLAIN", "p"}, {"PLAIN", "\x00p"}, {"PLAIN", "\x00p\x00"}, {"PLAIN", "\x00\x00p-secret"}, {"PLAIN", "q\x00p\x00p-secret"},
		{"PLAIN", "\x00p\x00p-secret\x00"}, {"SCRAM-SHA-512", ""}, {"SCRAM-SHA-512", "n,,n=a=XXb,r=abc"}, {"SCRAM-SHA-512", "n,,n=a=,r=abc"},
		{"SCRAM-SHA-512", "n,,n=,r=abc"}, {"SCRAM-SHA-512", "p=tls-unique,,n=s512,r=abc"}, {"SCRAM-SHA-512", "n,,m=x,n=s512,r=abc"},
		{"SCRAM-SHA-512", "n,,n=s512"}, {"SCRAM-SHA-512", "n,,n=s512,r=\xff"}, {"SCRAM-SHA-512", strings.Repeat("n", 100_000)},
	} {
		p := dial(t, b.SASL)
		call[message.SaslHandshakeResponse](p, 1, &message.SaslHandshakeRequest{Mechanism: c.mechanism})
		resp := call[message.SaslAuthenticateResponse](p, 1, &message.SaslAuthenticateRequest{AuthBytes: []byte(c.token)})
		if resp.ErrorCode != kafka.SASLAuthenticationFailed || resp.ErrorMessage == nil {
			t.Errorf("%s %.20q: %s", c.mechanism, c.token, resp.ErrorCode)
		}
		p.mustEnd()
	}
}

// A mechanism that is not offered is answered with those that are.
func TestMechanismThatIsNotOffered(t *testing.T) {
	b := brokertest.Start(t)
	for version := range int16(2) {
		p := dial(t, b.SASL)
		resp := call[message.SaslHandshakeResponse](p, version, &message.SaslHandshakeRequest{Mechanism: "OAUTHBEARER"})
		if diff := cmp.Diff(&message.SaslHandshakeResponse{
			ErrorCode: kafka.UnsupportedSASLMechanism, Mechanisms: []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"},
		}, resp); diff != "" {
			t.Error(diff)
		}
		p.mustEnd()
	}
}

// After the handshake of version 0 tokens come as they are, and a failure has
// no answer.
func TestRawTokens(t *testing.T) {
	b, _ := startWithFile(t, credentials(t, account{"p", "p-secret", kafka.ScramUnknown}))
	shaken := func() *peer {
		p := dial(t, b.SASL)
		if resp := call[message.SaslHandshakeResponse](p, 0, &message.SaslHandshakeRequest{Mechanism: "PLAIN"}); resp.ErrorCode != kafka.NoError {
			t.Fatal(resp.ErrorCode)
		}
		return p
	}
	p := shaken()
	p.raw(sized([]byte("\x00p\x00p-secret")))
	if got := p.readFrame(); len(got) != 0 {
		t.Errorf("the token is answered %x", got)
	}
	p.mustProduce("t", batch(10))
	p = shaken()
	p.raw(sized([]byte("\x00p\x00wrong")))
	p.mustEnd()
}

// Versions are told before and after the log-in, and nothing else is
// in order before it.
func TestOrderOfALogin(t *testing.T) {
	b, _ := startWithFile(t, credentials(t, account{"p", "p-secret", kafka.ScramUnknown}))
	p := dial(t, b.SASL)
	before := p.versions()
	if code := p.logIn("p", "p-secret"); code != kafka.NoError {
		t.Fatal(code)
	}
	if diff := cmp.Diff(before, p.versions()); diff != "" {
		t.Error(diff)
	}
	if code := call[message.SaslHandshakeResponse](p, 1, &message.SaslHandshakeRequest{Mechanism: "PLAIN"}).ErrorCode; code != kafka.IllegalSASLState {
		t.Errorf("a second handshake: %s", code)
	}
	p.versions()
	p = dial(t, b.SASL)
	p.send(1, &message.SaslAuthenticateRequest{AuthBytes: []byte("\x00p\x00p-secret")})
	p.mustEnd()
}
