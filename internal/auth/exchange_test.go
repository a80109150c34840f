package auth

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kaasd/internal/kafka"
)

// login lets another implementation's client talk to an Exchange.
func login(t *testing.T, client sasl.Mechanism, e *Exchange) (kafka.Principal, error) {
	t.Helper()
	session, token, err := client.Authenticate(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for {
		reply, done, err := e.Step(token)
		if err != nil {
			return kafka.Principal{}, err
		}
		theirs, next, err := session.Challenge(reply)
		if err != nil {
			t.Fatalf("the client does not take %q: %v", reply, err)
		}
		if done != theirs {
			t.Fatalf("done here: %v, at the client: %v", done, theirs)
		}
		if done {
			return e.Principal(), nil
		}
		token = next
	}
}

// clients are another implementation's clients by mechanism.
func clients(user, password, authzid string) map[string]sasl.Mechanism {
	s := scram.Auth{User: user, Pass: password, Zid: authzid}
	return map[string]sasl.Mechanism{
		Plain:       plain.Auth{User: user, Pass: password, Zid: authzid}.AsMechanism(),
		ScramSHA256: s.AsSha256Mechanism(),
		ScramSHA512: s.AsSha512Mechanism(),
	}
}

func TestExchangeWithAnotherClient(t *testing.T) {
	secrets := users{"alice": "secret", "a,b": "p,=x", "a=b": "x", "a=2Cb": "y", "\u00fc": "\u00fc", "long": strings.Repeat("p", 200)}
	for user, password := range secrets {
		for mechanism, client := range clients(user, password, "") {
			t.Run(mechanism+"/"+user, func(t *testing.T) {
				got, err := login(t, client, begin(t, mechanism, secrets))
				if err != nil || got != kafka.User(user) {
					t.Errorf("got %v, %v", got, err)
				}
			})
		}
	}
}

func TestExchangeAuthorizationID(t *testing.T) {
	secrets := users{"a,b": "secret", "bob": "secret"}
	for mechanism, client := range clients("a,b", "secret", "a,b") {
		if _, err := login(t, client, begin(t, mechanism, secrets)); err != nil {
			t.Errorf("%s: own name as authorization id: %v", mechanism, err)
		}
	}
	for mechanism, client := range clients("a,b", "secret", "bob") {
		_, err := login(t, client, begin(t, mechanism, secrets))
		if kafka.CodeOf(err) != kafka.SASLAuthenticationFailed {
			t.Errorf("%s: another's name as authorization id: %v", mechanism, err)
		}
	}
}

func TestExchangeDoesNotTellWhetherAUserExists(t *testing.T) {
	secrets := users{"alice": "secret"}
	for _, mechanism := range []string{Plain, ScramSHA256, ScramSHA512} {
		_, wrong := login(t, clients("alice", "guess", "")[mechanism], begin(t, mechanism, secrets))
		_, unknown := login(t, clients("mallory", "guess", "")[mechanism], begin(t, mechanism, secrets))
		if diff := cmp.Diff(kafka.MessageOf(wrong), kafka.MessageOf(unknown)); diff != "" {
			t.Errorf("%s: answers differ: %s", mechanism, diff)
		}
		if got := kafka.CodeOf(unknown); got != kafka.SASLAuthenticationFailed {
			t.Errorf("%s: got %v", mechanism, got)
		}
		for _, secret := range []string{"alice", "mallory", "guess"} {
			if strings.Contains(unknown.Error()+wrong.Error(), secret) {
				t.Errorf("%s: %q is in the answer", mechanism, secret)
			}
		}
	}
}

// A reload between the two steps of a log-in changes nothing for it.
func TestExchangeEndsAgainstTheKeysItBeganWith(t *testing.T) {
	secrets := users{"alice": "old"}
	e := begin(t, ScramSHA512, secrets)
	session, token, err := clients("alice", "old", "")[ScramSHA512].Authenticate(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	reply, _, err := e.Step(token)
	if err != nil {
		t.Fatal(err)
	}
	secrets["alice"] = "new"
	_, token, err = session.Challenge(reply)
	if err != nil {
		t.Fatal(err)
	}
	if _, done, err := e.Step(token); !done || err != nil {
		t.Errorf("done %v, %v", done, err)
	}
}

func TestExchangeIsOverAfterItsEnd(t *testing.T) {
	secrets := users{"alice": "secret"}
	for name, token := range map[string]string{"success": "\x00alice\x00secret", "failure": "\x00alice\x00guess"} {
		e := begin(t, Plain, secrets)
		e.Step([]byte(token))
		if _, _, err := e.Step([]byte("\x00alice\x00secret")); kafka.CodeOf(err) != kafka.IllegalSASLState {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

func TestUnknownMechanism(t *testing.T) {
	_, err := NewExchange("GSSAPI", users{}, options)
	if kafka.CodeOf(err) != kafka.UnsupportedSASLMechanism {
		t.Errorf("got %v", err)
	}
}

func TestPlainTokens(t *testing.T) {
	for name, c := range map[string]struct {
		token string
		code  kafka.Code
	}{
		"right":                 {"\x00alice\x00secret", kafka.NoError},
		"own authorization id":  {"alice\x00alice\x00secret", kafka.NoError},
		"other id":              {"bob\x00alice\x00secret", kafka.SASLAuthenticationFailed},
		"wrong password":        {"\x00alice\x00secre", kafka.SASLAuthenticationFailed},
		"longer password":       {"\x00alice\x00secrets", kafka.SASLAuthenticationFailed},
		"unknown user":          {"\x00bob\x00secret", kafka.SASLAuthenticationFailed},
		"empty":                 {"", kafka.SASLAuthenticationFailed},
		"empty user":            {"\x00\x00secret", kafka.SASLAuthenticationFailed},
		"empty password":        {"\x00alice\x00", kafka.SASLAuthenticationFailed},
		"two parts":             {"alice\x00secret", kafka.SASLAuthenticationFailed},
		"four parts":            {"\x00alice\x00secret\x00", kafka.SASLAuthenticationFailed},
		"user without password": {"\x00empty\x00", kafka.SASLAuthenticationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			reply, done, err := begin(t, Plain, users{"alice": "secret", "empty": ""}).Step([]byte(c.token))
			if kafka.CodeOf(err) != c.code || done != (err == nil) {
				t.Errorf("got %q, done %v, %v", reply, done, err)
			}
			if err == nil && (reply == nil || len(reply) != 0) {
				t.Errorf("reply %#v, want empty and not nil", reply)
			}
		})
	}
}

func TestParseMechanisms(t *testing.T) {
	got, err := ParseMechanisms("SCRAM-SHA-512, PLAIN,SCRAM-SHA-512")
	if diff := cmp.Diff([]string{ScramSHA512, Plain}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []string{"", "PLAIN,", "plain", "GSSAPI"} {
		if _, err := ParseMechanisms(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzExchange(f *testing.F) {
	f.Add(uint8(0), []byte("\x00alice\x00secret"), []byte{})
	f.Add(uint8(1), []byte("n,,n=alice,r=abc"), []byte("c=biws,r=abc,p=AAAA"))
	f.Add(uint8(2), []byte("n,a=alice,n=al=2Cice,r=abc,tokenauth=true"), []byte("c=,r=,p="))
	secrets := users{"alice": "secret"}
	f.Fuzz(func(t *testing.T, kind uint8, first, second []byte) {
		mechanism := []string{Plain, ScramSHA256, ScramSHA512}[kind%3]
		e := begin(t, mechanism, secrets)
		for _, token := range [][]byte{first, second} {
			reply, done, err := e.Step(token)
			if err == nil && reply == nil {
				t.Fatal("no reply and no error")
			}
			if done && e.Principal() != kafka.User("alice") {
				t.Fatalf("%q logged in", e.Principal())
			}
		}
	})
}
