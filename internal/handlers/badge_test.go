package handlers

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"strings"
	"testing"

	"kaasd/internal/auth"
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

var (
	sslListener     = server.Listener{Name: "SSL", Protocol: server.SSL, Address: "127.0.0.1:9093", Host: "locked", Port: 9093}
	saslSSLListener = server.Listener{Name: "SASL_SSL", Protocol: server.SASLSSL, Address: "127.0.0.1:9094", Host: "locked", Port: 9094}
)

// shown is what a handshake gives of a client with a certificate.
func shown(t testing.TB, subject pkix.Name) *tls.ConnectionState {
	t.Helper()
	raw, err := asn1.Marshal(subject.ToRDNSequence())
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{RawSubject: raw, Subject: subject}
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}
}

// arrive is a connection after its handshake.
func (r *rig) arrive(l server.Listener, state *tls.ConnectionState) (*peer, error) {
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4711}
	session, err := r.Connect(server.Conn{ID: 1, Listener: l, Remote: remote, Local: remote, TLS: state})
	return &peer{t: r.t, ctx: r.t.Context(), clientID: "tester", session: session}, err
}

func (p *peer) principal() string { return p.session.(*session).principal().Name }

func parseUsers(t testing.TB, file string) *credstore.Snapshot {
	t.Helper()
	users, _, err := credstore.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return users
}

func withRules(rules string) func(*setup) {
	return func(s *setup) {
		m, err := auth.ParseMappingRules(rules)
		if err != nil {
			panic(err)
		}
		s.CertificateNames = m
	}
}

const carolByCN = `{"users":[{"username":"carol","authType":"tls","tlsCN":"carol.example"},
	{"username":"scram","authType":"scram-sha-512","tlsCN":"scram.example"}]}`

// The name after the rules is looked up before the common name, and is the
// principal where nobody has it.
func TestPrincipalOfACertificate(t *testing.T) {
	unit := []string{"Unit"}
	for _, c := range []struct {
		name, rules, users string
		subject            pkix.Name
		want               string // empty: refused
	}{
		{"the subject", "DEFAULT", carolByCN, pkix.Name{CommonName: "dave", OrganizationalUnit: unit}, "CN=dave,OU=Unit"},
		{"by the common name", "DEFAULT", carolByCN, pkix.Name{CommonName: "carol.example", OrganizationalUnit: unit}, "carol"},
		{"by the mapped name", "RULE:^CN=(.*)$/$1.example/", carolByCN, pkix.Name{CommonName: "carol"}, "carol"},
		{"by the whole subject", "DEFAULT", `{"users":[{"username":"x","authType":"tls","tlsCN":"CN=a,OU=Unit"}]}`, pkix.Name{CommonName: "a", OrganizationalUnit: unit}, "x"},
		{"the mapped name is nobody's", "RULE:^CN=(.*)$/$1/U", carolByCN, pkix.Name{CommonName: "dave"}, "DAVE"},
		{"of another kind of user", "DEFAULT", carolByCN, pkix.Name{CommonName: "scram.example"}, "CN=scram.example"},
		{"the mapped name wins", "RULE:^CN=(.*)$/other/", `{"users":[{"username":"x","authType":"tls","tlsCN":"a"},{"username":"y","authType":"tls","tlsCN":"other"}]}`, pkix.Name{CommonName: "a"}, "y"},
		{"no rule", "RULE:^CN=(.*),OU=Services$/$1/", carolByCN, pkix.Name{CommonName: "carol.example"}, ""},
		{"no name", "DEFAULT", carolByCN, pkix.Name{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, withRules(c.rules), func(s *setup) { s.credentials = c.users })
			p, err := r.arrive(sslListener, shown(t, c.subject))
			if c.want == "" {
				if err == nil {
					t.Errorf("%s got in", p.principal())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := p.principal(); got != c.want || !p.session.Established() {
				t.Errorf("got %q, established %v", got, p.session.Established())
			}
			if _, ok := LoggedIn(p.session); ok {
				t.Error("a certificate is no SASL log-in")
			}
			p.get(kafka.KeyMetadata, 1, &message.MetadataRequest{}, &message.MetadataResponse{})
		})
	}
}

// A tlsCN that the rules hide is told to who reads why the client is refused.
func TestHiddenTLSCN(t *testing.T) {
	r := newRig(t, withRules("RULE:^CN=(.*),OU=Services$/$1/"), func(s *setup) { s.credentials = carolByCN })
	for name, hint := range map[string]bool{"carol.example": true, "dave": false} {
		_, err := r.arrive(sslListener, shown(t, pkix.Name{CommonName: name}))
		if err == nil || !strings.Contains(err.Error(), "no rule of") || strings.Contains(err.Error(), `the tlsCN of user "carol"`) != hint {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithoutACertificate(t *testing.T) {
	r := newRig(t)
	p, err := r.arrive(sslListener, &tls.ConnectionState{})
	if err != nil || p.principal() != "ANONYMOUS" || !p.session.Established() {
		t.Errorf("got %q, %v", p.principal(), err)
	}
	unverified := shown(t, pkix.Name{CommonName: "a"})
	unverified.VerifiedChains = nil
	if _, err := r.arrive(sslListener, unverified); err == nil || !strings.Contains(err.Error(), "not verified") {
		t.Errorf("a certificate that nobody verified: %v", err)
	}
}

// Where a log-in comes, it says who it is, whatever the certificate.
func TestLoginWinsOverTheCertificate(t *testing.T) {
	r := newRig(t, withUsers, withRules("RULE:never/x/"))
	p, err := r.arrive(saslSSLListener, shown(t, pkix.Name{CommonName: "carol"}))
	if err != nil || p.session.Established() {
		t.Fatalf("established before the log-in, or %v", err)
	}
	handshake(p, 1, auth.Plain)
	if resp := authenticate(p, 2, "\x00alice\x00alice-secret"); resp.ErrorCode != 0 {
		t.Fatalf("log-in failed with %d", resp.ErrorCode)
	}
	if user, ok := LoggedIn(p.session); !ok || user != "alice" {
		t.Errorf("logged in as %q", user)
	}
}

// A session ends when its certificate means somebody else, and stays as long as
// it does not.
func TestCertificatesThatChangeHands(t *testing.T) {
	const other = `{"username":"other","authType":"tls","tlsCN":"other.example"}`
	for _, c := range []struct {
		name, file string
		ends       bool
	}{
		{"the same", carolByCN, false},
		{"another user comes", `{"users":[{"username":"carol","authType":"tls","tlsCN":"carol.example"},` + other + `]}`, false},
		{"other quotas", `{"users":[{"username":"carol","authType":"tls","tlsCN":"carol.example","quotas":{"requestPercentage":5}}]}`, false},
		{"removed", `{"users":[` + other + `]}`, true},
		{"another authType", `{"users":[{"username":"carol","authType":"plain","plainPassword":"p","tlsCN":"carol.example"}]}`, true},
		{"another tlsCN", `{"users":[{"username":"carol","authType":"tls","tlsCN":"caroline.example"}]}`, true},
		{"another user has it", `{"users":[{"username":"eve","authType":"tls","tlsCN":"carol.example"},{"username":"carol","authType":"tls"}]}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(s *setup) { s.credentials = carolByCN })
			carol, err := r.arrive(sslListener, shown(t, pkix.Name{CommonName: "carol.example"}))
			if err != nil {
				t.Fatal(err)
			}
			nobody, err := r.arrive(sslListener, &tls.ConnectionState{})
			if err != nil {
				t.Fatal(err)
			}
			next := parseUsers(t, c.file)
			match := r.Outcasts(r.users, next)
			if got := match(carol.session); got != c.ends {
				t.Errorf("ends: %v", got)
			}
			if match(nobody.session) {
				t.Error("the session of nobody ends")
			}
		})
	}
}

// A change between the handshake and the first frame comes too early to find the
// session, which ends all the same.
func TestCertificateChangesHandsBeforeTheFirstFrame(t *testing.T) {
	r := newRig(t, func(s *setup) { s.credentials = carolByCN })
	early, err := r.arrive(sslListener, shown(t, pkix.Name{CommonName: "carol.example"}))
	if err != nil {
		t.Fatal(err)
	}
	late, err := r.arrive(sslListener, shown(t, pkix.Name{CommonName: "carol.example"}))
	if err != nil {
		t.Fatal(err)
	}
	late.get(kafka.KeyMetadata, 1, &message.MetadataRequest{}, &message.MetadataResponse{})
	r.users = parseUsers(t, `{"users":[]}`)
	if _, err := early.try(kafka.KeyMetadata, 1, &message.MetadataRequest{}); err == nil {
		t.Error("the session goes on")
	}
	late.get(kafka.KeyMetadata, 1, &message.MetadataRequest{}, &message.MetadataResponse{})
}
