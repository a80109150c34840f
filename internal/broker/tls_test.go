package broker_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/admin"
	"kaasd/internal/auth"
	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/certificate"
	"kaasd/internal/certificate/certificatetest"
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// notary is who signs for a broker and its clients, with the broker's files.
type notary struct {
	*certificatetest.Authority
	t   *testing.T
	dir string
}

func newNotary(t *testing.T) *notary {
	t.Helper()
	n := &notary{certificatetest.NewAuthority(t, "ca"), t, t.TempDir()}
	n.renew()
	n.trust(n.Cert)
	return n
}

// renew puts a new pair into the broker's files, in place.
func (n *notary) renew(changes ...func(*x509.Certificate)) certificatetest.Pair {
	n.t.Helper()
	p := n.Issue(n.t, pkix.Name{CommonName: "kafka"}, []string{"kafka.example"}, changes...)
	p.Write(n.t, n.dir)
	return p
}

func (n *notary) path(name string) string { return filepath.Join(n.dir, name) }

// trust makes the bundle of authorities of clients.
func (n *notary) trust(bundle []byte) {
	n.t.Helper()
	rewrite(n.t, n.path("ca.crt"), string(bundle))
}

// listeners adds two with TLS.
func (n *notary) listeners(c *broker.Config) {
	c.Listeners = append(c.Listeners,
		server.Listener{Name: "SSL", Protocol: server.SSL, Address: "127.0.0.1:0", Host: "127.0.0.1"},
		server.Listener{Name: "SASL_SSL", Protocol: server.SASLSSL, Address: "127.0.0.1:0", Host: "127.0.0.1"})
	c.TLS.Files = certificate.Files{Certs: []string{n.path("tls.crt")}, Keys: []string{n.path("tls.key")}, ClientCA: n.path("ca.crt")}
}

// client is what a client of the broker needs, with a certificate for its
// subject; without one it shows none.
func (n *notary) client(subject ...pkix.Name) *tls.Config {
	n.t.Helper()
	c := &tls.Config{RootCAs: certificatetest.Pool(n.Authority), ServerName: "localhost"}
	for _, s := range subject {
		c.Certificates = []tls.Certificate{n.Issue(n.t, s, nil).TLS()}
	}
	return c
}

// dialTLS is a peer that has shaken hands, as far as a client can tell.
func dialTLS(t *testing.T, address string, config *tls.Config) (*peer, error) {
	t.Helper()
	p := dial(t, address)
	secret := tls.Client(p.Conn, config)
	p.Conn = secret
	return p, secret.Handshake()
}

func mustDialTLS(t *testing.T, address string, config *tls.Config) *peer {
	t.Helper()
	p, err := dialTLS(t, address, config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shown is the serial number of the certificate that the broker shows now.
func shown(t *testing.T, b *brokertest.Broker, config *tls.Config) string {
	t.Helper()
	p := mustDialTLS(t, b.SSL, config)
	defer p.Close()
	return p.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func TestRealClientsOverTLS(t *testing.T) {
	n := newNotary(t)
	bob := account{"bob", "b-secret", kafka.ScramSHA512}
	b, _ := startWithFile(t, credentials(t, bob), n.listeners)
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		config := n.client()
		config.MinVersion, config.MaxVersion = version, version
		t.Run("SSL "+name, func(t *testing.T) {
			topic := "ssl-" + name
			produceN(t, newClient(t, b.SSL, kgo.DialTLSConfig(config)), topic, 2000, 2000)
			consumeN(t, b.SSL, topic, 2000, kgo.DialTLSConfig(config))
		})
		t.Run("SASL_SSL "+name, func(t *testing.T) {
			topic := "sasl-" + name
			produceN(t, newClient(t, b.SASLSSL, kgo.DialTLSConfig(config), kgo.SASL(bob.as())), topic, 2000, 2000)
			consumeN(t, b.SASLSSL, topic, 2000, kgo.DialTLSConfig(config), kgo.SASL(bob.as()))
		})
	}
	all := scrape(t, b)
	if good, bad := all.sum("kaasd_tls_handshakes_total", "result", "success"), all.sum("kaasd_tls_handshakes_total", "result", "failure"); good < 8 || bad != 0 {
		t.Errorf("got %v handshakes and %v failures", good, bad)
	}
}

func TestMinVersion(t *testing.T) {
	n := newNotary(t)
	b := brokertest.Start(t, n.listeners, func(c *broker.Config) { c.TLS.MinVersion = "1.3" })
	old := n.client()
	old.MaxVersion = tls.VersionTLS12
	if _, err := dialTLS(t, b.SSL, old); err == nil {
		t.Error("TLS 1.2 is spoken")
	}
	mustDialTLS(t, b.SSL, n.client()).versions()
}

// TestClientsRefuseTheBroker: what a client sees of certificates it must not take.
func TestClientsRefuseTheBroker(t *testing.T) {
	n := newNotary(t)
	var unknown x509.UnknownAuthorityError
	b := brokertest.Start(t, n.listeners)
	stranger := newNotary(t)
	if _, err := dialTLS(t, b.SSL, stranger.client()); !errors.As(err, &unknown) {
		t.Errorf("got %v, want an unknown authority", err)
	}
	other := n.client()
	other.ServerName = "other.example"
	var wrongName x509.HostnameError
	if _, err := dialTLS(t, b.SSL, other); !errors.As(err, &wrongName) {
		t.Errorf("got %v, want a wrong name", err)
	}
	eventually(t, "they are counted", func() bool {
		return scrape(t, b).sum("kaasd_tls_handshakes_total", "listener", "SSL", "result", "failure") == 2
	})
	n.renew(certificatetest.Valid(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)))
	ended := brokertest.Start(t, n.listeners)
	var invalid x509.CertificateInvalidError
	if _, err := dialTLS(t, ended.SSL, n.client()); !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
		t.Errorf("got %v, want an expired certificate", err)
	}
}

// principal is who the broker takes a client for, or why it has none.
func principal(t *testing.T, p *peer, lines *observer.ObservedLogs) string {
	t.Helper()
	before := lines.FilterMessage("quota changed").Len()
	p.t = t
	frame := p.frame(1, &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{entry(fmt.Sprint("u", before), set(kafka.ProducerByteRate, 1e9))}})
	if _, err := p.Write(frame); err != nil {
		return "refused"
	}
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.frameOrEnd(); err != nil {
		return "refused"
	}
	return fmt.Sprint(lines.FilterMessage("quota changed").All()[before].ContextMap()["principal"])
}

func TestClientCertificates(t *testing.T) {
	n, stranger := newNotary(t), newNotary(t)
	alice := pkix.Name{CommonName: "alice", OrganizationalUnit: []string{"dev"}, Organization: []string{"example"}}
	foreign := n.client()
	foreign.Certificates = stranger.client(alice).Certificates
	expired := n.client()
	expired.Certificates = []tls.Certificate{n.Issue(t, alice, nil, certificatetest.Valid(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))).TLS()}
	serverOnly := n.client()
	serverOnly.Certificates = []tls.Certificate{n.Issue(t, alice, nil, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }).TLS()}
	// A client that is asked leaves out what the named authorities have not
	// signed, unless it insists.
	for _, c := range []*tls.Config{foreign, expired, serverOnly} {
		shows := c.Certificates[0]
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shows, nil }
	}
	const dn = "User:CN=alice,OU=dev,O=example"
	const nobody = "User:ANONYMOUS"
	clients := []struct {
		name   string
		config *tls.Config
		want   map[certificate.ClientAuth]string
	}{
		{"none", n.client(), map[certificate.ClientAuth]string{certificate.None: nobody, certificate.Requested: nobody, certificate.Required: "refused"}},
		{"good", n.client(alice), map[certificate.ClientAuth]string{certificate.None: nobody, certificate.Requested: dn, certificate.Required: dn}},
		{"of another authority", foreign, map[certificate.ClientAuth]string{certificate.None: nobody, certificate.Requested: "refused", certificate.Required: "refused"}},
		{"expired", expired, map[certificate.ClientAuth]string{certificate.None: nobody, certificate.Requested: "refused", certificate.Required: "refused"}},
		{"not for clients", serverOnly, map[certificate.ClientAuth]string{certificate.None: nobody, certificate.Requested: "refused", certificate.Required: "refused"}},
	}
	for _, mode := range []certificate.ClientAuth{certificate.None, certificate.Requested, certificate.Required} {
		t.Run(string(mode), func(t *testing.T) {
			core, lines := observer.New(zapcore.InfoLevel)
			b := brokertest.StartLogged(t, zap.New(core), n.listeners, func(c *broker.Config) { c.TLS.ClientAuth = mode })
			for _, client := range clients {
				for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
					config := client.config.Clone()
					config.MinVersion, config.MaxVersion = version, version
					p, err := dialTLS(t, b.SSL, config)
					got := "refused" // in TLS 1.3 clients learn it with their first read
					if err == nil {
						got = principal(t, p, lines)
					}
					if got != client.want[mode] {
						t.Errorf("%s, TLS %x: got %s, want %s", client.name, version, got, client.want[mode])
					}
				}
			}
		})
	}
}

// TestWhoseCertificate: rules, and users of the credentials file.
func TestWhoseCertificate(t *testing.T) {
	n := newNotary(t)
	rules, err := auth.ParseMappingRules("RULE:^CN=([a-z]+),OU=dev$/$1/U,RULE:^CN=(robot-[0-9]+)$/$1/")
	if err != nil {
		t.Fatal(err)
	}
	core, lines := observer.New(zapcore.InfoLevel)
	b := brokertest.StartLogged(t, zap.New(core), n.listeners, func(c *broker.Config) { c.TLS.ClientAuth, c.TLS.Names = certificate.Required, rules },
		withFile(t, `{"users":[{"username":"carol","authType":"tls","tlsCN":"robot-7"}]}`))
	for subject, want := range map[string]string{"bob dev": "User:BOB", "robot-1": "User:robot-1", "robot-7": "User:carol", "nobody": "refused"} {
		cn, ou, ok := strings.Cut(subject, " ")
		name := pkix.Name{CommonName: cn}
		if ok {
			name.OrganizationalUnit = []string{ou}
		}
		if got := principal(t, mustDialTLS(t, b.SSL, n.client(name)), lines); got != want {
			t.Errorf("%s: got %s, want %s", subject, got, want)
		}
	}
	eventually(t, "it is told", func() bool { return lines.FilterMessage("connection refused").Len() == 1 })
}

// TestCertificatesWhereClientsLogIn: Kafka asks for them only where the listener's
// own setting says so, and the log-in says who it is.
func TestCertificatesWhereClientsLogIn(t *testing.T) {
	n := newNotary(t)
	asked := func(c *broker.Config) {
		c.TLS.ListenerClientAuth = map[string]certificate.ClientAuth{"SASL_SSL": certificate.Required}
	}
	everywhere := func(c *broker.Config) { c.TLS.ClientAuth = certificate.Required }
	own, _ := startWithFile(t, credentials(t, alice), n.listeners, asked)
	all, _ := startWithFile(t, credentials(t, alice), n.listeners, everywhere)
	if code := mustDialTLS(t, all.SASLSSL, n.client()).logIn("alice", "a-secret"); code != kafka.NoError {
		t.Errorf("without a certificate: %s", code)
	}
	if code := mustDialTLS(t, own.SASLSSL, n.client(pkix.Name{CommonName: "bob"})).logIn("alice", "a-secret"); code != kafka.NoError {
		t.Errorf("with a certificate: %s", code)
	}
	p, err := dialTLS(t, own.SASLSSL, n.client())
	if err == nil {
		_, err = p.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without one that is required: %v", err)
	}
}

// TestCertificatesAreLive: every way to say it, and what connections see.
func TestCertificatesAreLive(t *testing.T) {
	n := newNotary(t)
	b := brokertest.Start(t, n.listeners, func(c *broker.Config) { c.HTTP.Lifecycle = true })
	stays := mustDialTLS(t, b.SSL, n.client())
	post := func() {
		resp, err := http.Post("http://"+b.HTTP+"/-/reload", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "certificates ") {
			t.Errorf("got %d %s", resp.StatusCode, body)
		}
	}
	signal := func() {
		if line, err := b.ReloadFiles(credstore.TriggerSignal); err != nil {
			t.Errorf("got %s, %v", line, err)
		}
	}
	for name, tell := range map[string]func(){"nobody tells": func() {}, "POST": post, "SIGHUP": signal} {
		next := n.renew()
		tell()
		eventually(t, name, func() bool { return shown(t, b, n.client()) == next.Serial().String() })
	}
	stays.versions()
}

// TestMisfitsStayOut: the old pair is shown as long as the new one does not fit.
func TestMisfitsStayOut(t *testing.T) {
	n := newNotary(t)
	b := brokertest.Start(t, n.listeners)
	before := shown(t, b, n.client())
	next := n.Issue(t, pkix.Name{CommonName: "kafka"}, nil)
	rewrite(t, n.path("tls.crt"), string(next.Cert))
	text, err := b.ReloadFiles(credstore.TriggerSignal)
	if err == nil || !strings.Contains(err.Error(), "the key is not that of the certificate") {
		t.Errorf("got %v", err)
	}
	if want := "certificates not reloaded, the last good ones stay in force: "; !strings.Contains(text, want) || !strings.HasPrefix(text, "credentials ") {
		t.Errorf("got %q, want a line for each file", text)
	}
	if got := shown(t, b, n.client()); got != before {
		t.Errorf("shows %s, want %s", got, before)
	}
	if got := scrape(t, b).sum("kaasd_tls_last_reload_successful"); got != 0 {
		t.Errorf("the gauge says %v", got)
	}
	if status, body := page(t, b, "/readyz?verbose"); status != http.StatusOK || !strings.Contains(body, "the key is not that") {
		t.Errorf("ready: %d %s", status, body)
	}
	if got := document[admin.Status](t, b, "/v1/status").Certificates; got == nil || !strings.Contains(got.Error, "the key is not that") || got.NotAfter.Before(time.Now()) {
		t.Errorf("the status says %+v", got)
	}
	rewrite(t, n.path("tls.key"), string(next.Key))
	eventually(t, "the other half", func() bool { return shown(t, b, n.client()) == next.Serial().String() })
}

// TestHandshakesWhileCertificatesChange: none fails, whatever the files hold at
// the moment.
func TestHandshakesWhileCertificatesChange(t *testing.T) {
	n := newNotary(t)
	b := brokertest.Start(t, n.listeners)
	done := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		config := n.client()
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				p, err := dialTLS(t, b.SSL, config)
				if err != nil {
					t.Errorf("a handshake failed: %v", err)
					return
				}
				p.Close()
			}
		})
	}
	var last certificatetest.Pair
	for range 50 {
		last = n.renew()
		_, _ = b.ReloadFiles(credstore.TriggerSignal) // or the watch was faster, or in between
	}
	eventually(t, "the last pair is shown", func() bool { return shown(t, b, n.client()) == last.Serial().String() })
	close(done)
	clients.Wait()
	if got := scrape(t, b).sum("kaasd_tls_handshakes_total", "result", "failure"); got != 0 {
		t.Errorf("got %v failures", got)
	}
}

// TestTicketsEndWithTheAuthority: a session is resumed while nothing changes; who
// held a ticket does not escape the authorities of today.
func TestTicketsEndWithTheAuthority(t *testing.T) {
	n, next := newNotary(t), certificatetest.NewAuthority(t, "next")
	b := brokertest.Start(t, n.listeners, func(c *broker.Config) { c.TLS.ClientAuth = certificate.Required })
	config := n.client(pkix.Name{CommonName: "alice"})
	config.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	for i, resumed := range []bool{false, true} {
		p := mustDialTLS(t, b.SSL, config)
		p.versions() // tickets come with the first answer
		if got := p.Conn.(*tls.Conn).ConnectionState().DidResume; got != resumed {
			t.Errorf("connection %d: resumed %v, want %v", i, got, resumed)
		}
	}
	n.trust(next.Cert)
	if text, err := b.ReloadFiles(credstore.TriggerSignal); err != nil {
		t.Fatal(text, err)
	}
	p, err := dialTLS(t, b.SSL, config)
	if err == nil {
		_, err = p.Read(make([]byte, 1))
	}
	if err == nil {
		t.Error("the old ticket is good")
	}
}

// TestCertificatesByName: several pairs, and the name that clients are told.
func TestCertificatesByName(t *testing.T) {
	n := newNotary(t)
	inside := n.Issue(t, pkix.Name{CommonName: "inside"}, []string{"*.inside.example"})
	for name, data := range map[string][]byte{"in.crt": inside.Cert, "in.key": inside.Key} {
		if err := os.WriteFile(n.path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := brokertest.Start(t, n.listeners, func(c *broker.Config) {
		c.TLS.Files.Certs = append(c.TLS.Files.Certs, n.path("in.crt"))
		c.TLS.Files.Keys = append(c.TLS.Files.Keys, n.path("in.key"))
		pinned := c.Listeners[2]
		pinned.Name, pinned.Host, pinned.Port, pinned.Pinned = "TOLD", "told.example", 19092, true
		c.Listeners = append(c.Listeners, pinned)
	})
	all := b.Listeners()
	for _, c := range []struct{ address, asks, shows, told string }{
		{all[2].Address, "kafka.example", "kafka", "kafka.example"},
		{all[2].Address, "kafka-0.inside.example", "inside", "kafka-0.inside.example"},
		{all[2].Address, "localhost", "kafka", "localhost"},
		{all[4].Address, "kafka.example", "kafka", "told.example"},
	} {
		config := n.client()
		config.ServerName = c.asks
		p := mustDialTLS(t, c.address, config)
		if got := p.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName; got != c.shows {
			t.Errorf("%s: shown %s, want %s", c.asks, got, c.shows)
		}
		meta := call[message.MetadataResponse](p, 12, &message.MetadataRequest{})
		if got := meta.Brokers[0].Host; got != c.told {
			t.Errorf("%s: told %s, want %s", c.asks, got, c.told)
		}
	}
}

func TestStartsNotWithoutCertificates(t *testing.T) {
	n := newNotary(t)
	required := func(c *broker.Config) { c.TLS.ClientAuth, c.TLS.Files.ClientCA = certificate.Required, "" }
	unnamed := func(c *broker.Config) { c.TLS.Files = certificate.Files{} }
	for want, change := range map[string]func(*broker.Config){
		"tls.client.ca.file: listener SSL has ssl.client.auth=required and needs the authorities of the client certificates": required,
		"tls.cert.file: a listener with TLS needs a certificate, and tls.key.file its key":                                   unnamed,
	} {
		if err := startsNot(n.listeners, change); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	rewrite(t, n.path("tls.key"), "none")
	var bad *broker.BadFile
	if err := startsNot(n.listeners); !errors.As(err, &bad) {
		t.Errorf("got %v, want a bad file", err)
	}
}
