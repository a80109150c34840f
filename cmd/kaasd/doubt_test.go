package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/certificate"
	"kaasd/internal/credstore"
	"kaasd/internal/server"
)

// TestAccessDoubts: the start says who comes in without a name, and only then.
func TestAccessDoubts(t *testing.T) {
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
			s := &settings{}
			s.Listeners = []server.Listener{{Name: "L", Protocol: c.protocol}}
			s.TLS.ClientAuth, s.CredentialsFile, s.Access.Enabled = c.asks, c.file, true
			if diff := cmp.Diff(strings.Fields(c.want), strings.Fields(texts(s.accessDoubts()))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func texts(all []doubt) string {
	var lines []string
	for _, d := range all {
		lines = append(lines, d.text)
	}
	return strings.Join(lines, "\n")
}

// TestDoubts: what is valid and not meant is told, with the way out; what is meant is
// not.
func TestDoubts(t *testing.T) {
	const files = " --tls-cert-file=c --tls-key-file=k"
	for _, tt := range []struct{ name, flags, want string }{
		{"nothing odd", "", ""},
		{"certificates for nobody", files + " --tls-client-ca-file=a", "no listener speaks TLS: no effect of tls.cert.file, tls.key.file, tls.client.ca.file (listeners: SSL or SASL_SSL)"},
		{"certificates", "--listeners=SSL://localhost:1" + files, ""},
		{"clients are asked nowhere", "--ssl-client-auth=required", "no listener speaks TLS: no effect of ssl.client.auth (listeners: SSL or SASL_SSL)"},
		{"clients log in by SASL", "--listeners=SASL_SSL://localhost:1 --ssl-client-auth=required" + files, "ssl.client.auth: required asks nobody, it is for SSL listeners (listener.name.NAME.ssl.client.auth is for one, of SASL_SSL too)"},
		{"some show certificates", "--listeners=SASL_SSL://localhost:1,SSL://localhost:2 --ssl-client-auth=required --tls-client-ca-file=a" + files, ""},
		{"one super user for two", "--authorizer-class-name=acl --super-users=User:bob,User:alice", `super.users: "User:bob,User:alice" is one user with commas in the name (several have ; between them)`},
		{"and a space", "--authorizer-class-name=acl --super-users=User:eve;User:bob,\tUser:alice", `super.users: "User:bob,\tUser:alice" is one user with commas in the name (several have ; between them)`},
		{"names with commas", "--authorizer-class-name=acl --super-users=User:CN=a,O=x;User:b", ""},
		{"super users without an authorizer", "--super-users=User:bob", "super.users has no effect: there is no authorizer (authorizer.class.name: acl)"},
		{"passwords in the clear", "--listeners=SASL_PLAINTEXT://:1 --sasl-enabled-mechanisms=PLAIN", "listener SASL_PLAINTEXT: PLAIN sends passwords in the clear on :1 (SASL_SSL encrypts them, SCRAM-SHA-512 alone in sasl.enabled.mechanisms sends none)"},
		{"passwords on one machine", "--listeners=SASL_PLAINTEXT://127.0.0.1:1 --sasl-enabled-mechanisms=PLAIN", ""},
		{"proofs in the clear", "--listeners=SASL_PLAINTEXT://:1", ""},
		{"open pages", "--http-listen=:9404", "http.listen: the pages on :9404 are open to everybody, in the clear (http.config.file asks for passwords and has TLS)"},
		{"open pages by a name", "--http-listen=kaasd.example:9404", "http.listen: the pages on kaasd.example:9404 are open to everybody, in the clear (http.config.file asks for passwords and has TLS)"},
		{"guarded pages", "--http-listen=0.0.0.0:9404 --http-config-file=web.yml", ""},
		{"pages on one machine", "--http-listen=[::1]:9404", ""},
		{"no pages", "--http-listen=", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &app{}
			c := newStart(a)
			if err := c.ParseFlags(strings.Split(strings.TrimSpace(tt.flags), " ")); err != nil {
				t.Fatal(err)
			}
			_, s, err := a.load(c)
			if err != nil {
				t.Fatal(err)
			}
			always := len(s.accessDoubts())
			if diff := cmp.Diff(tt.want, texts(s.doubts()[always:])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestListenerAsksNobody: a setting of one listener, which has no flag.
func TestListenerAsksNobody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kaasd.yaml")
	text := "listeners: IN://localhost:1\nlistener.security.protocol.map: IN:PLAINTEXT\nlistener.name.in.ssl.client.auth: required\nsuper.users: User:a,User:b\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := try(nil, "config", "validate", file)
	for _, want := range []string{
		"listener.name.in.ssl.client.auth: required asks nobody, the listener is PLAINTEXT (listeners: SSL or SASL_SSL)\n",
		"super.users has no effect: there is no authorizer (authorizer.class.name: acl)\n",
		`super.users: "User:a,User:b" is one user with commas in the name (several have ; between them)` + "\n",
		"no credentials file: every client is User:ANONYMOUS\n",
	} {
		if code != exitOK || !strings.Contains(errs, "warn   "+want) {
			t.Errorf("= %d %q, want %q", code, errs, want)
		}
	}
}

// TestUserDoubts: whoever is in the credentials file and cannot come in is named.
func TestUserDoubts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	for _, args := range []string{"a --generate", "b --generate --mechanism scram-sha-256", "c --tls-cn c", "d --service-account e/f"} {
		if code, _, errs := try(nil, append([]string{"user", "add", "--file", file}, strings.Fields(args)...)...); code != exitOK {
			t.Fatal(errs)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), `"users": [`, `"users": [{"username":"p","authType":"plain","plainPassword":"readable"},`, 1)
	users, _, err := credstore.Parse([]byte(text))
	if err != nil || len(users.Users) != 5 {
		t.Fatal(err, text)
	}
	const out256, out512 = "SCRAM-SHA-256 in sasl.enabled.mechanisms, SASL_SSL in listeners", "SCRAM-SHA-512 in sasl.enabled.mechanisms, SASL_SSL in listeners"
	const outPlain, outTLS = "PLAIN in sasl.enabled.mechanisms, SASL_SSL in listeners", "SSL in listeners, and ssl.client.auth"
	for _, tt := range []struct {
		name       string
		protocol   server.Protocol
		asks       certificate.ClientAuth
		mechanisms string
		want       []string
	}{
		{"all but one kind", server.SASLSSL, certificate.None, "SCRAM-SHA-512", []string{outPlain, out256, outTLS}},
		{"passwords", server.SASLPlaintext, certificate.None, "SCRAM-SHA-256 SCRAM-SHA-512 PLAIN", []string{outTLS}},
		{"certificates", server.SSL, certificate.Required, "SCRAM-SHA-512", []string{outPlain, out256, out512}},
		{"no log-in at all, which is told", server.Plaintext, certificate.None, "SCRAM-SHA-512", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &settings{}
			s.Listeners = []server.Listener{{Name: "L", Protocol: tt.protocol}}
			s.TLS.ClientAuth, s.SASLMechanisms = tt.asks, strings.Fields(tt.mechanisms)
			var got []string
			for _, d := range s.userDoubts(users) {
				_, way, _ := strings.Cut(strings.TrimSuffix(d.text, ")"), "(")
				got = append(got, way)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			empty := s.userDoubts(&credstore.Snapshot{})
			if told := len(empty) == 1; told != tt.protocol.SASL() {
				t.Errorf("of a file without users: %v", empty)
			}
		})
	}
}
