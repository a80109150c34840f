package broker_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/certificate"
	"kaasd/internal/certificate/certificatetest"
	"kaasd/internal/credstore"
)

// commonName makes a subject of a common name as ASN.1 of some kind, which need
// not be what the kind may hold.
func commonName(kind int, value string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		name := pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: asn1.RawValue{Tag: kind, Bytes: []byte(value)}}}}
		var err error
		if c.RawSubject, err = asn1.Marshal(name); err != nil {
			panic(err)
		}
	}
}

func withNames(n int) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		for i := range n {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("name-%06d.example", i))
		}
	}
}

// stranger is a client that shows a certificate whatever the broker asks for.
type stranger struct {
	name   string
	shows  tls.Certificate
	want   string // the principal; "": refused
	reason string // what the log says of who is refused
	known  bool   // refused after the handshake, as nobody
}

// visit is who the broker takes a client for, and what that left in its log and
// its metrics.
func (s *stranger) visit(t *testing.T, n *notary) {
	core, lines := observer.New(zapcore.InfoLevel)
	b := brokertest.StartLogged(t, zap.New(core), n.listeners, func(c *broker.Config) { c.TLS.ClientAuth = certificate.Required },
		withFile(t, `{"users":[{"username":"carol","authType":"tls","tlsCN":"alice"}]}`))
	config := n.client()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &s.shows, nil }
	got := "refused"
	if p, err := dialTLS(t, b.SSL, config); err == nil {
		got = principal(t, p, lines)
		_ = p.Close() // the broker lingers until then
	}
	if s.want != "" {
		if got != s.want {
			t.Errorf("got %q, want %q", got, s.want)
		}
		_, metrics := page(t, b, "/metrics")
		for result, n := range map[string]int{"success": 1, "failure": 0} {
			if want := fmt.Sprintf("kaasd_authentications_total{listener=\"SSL\",mechanism=\"TLS\",result=%q} %d\n", result, n); !strings.Contains(metrics, want) {
				t.Errorf("the metrics do not say %s", want)
			}
		}
		return
	}
	message, counter := "TLS handshake failed", []string{"kaasd_tls_handshakes_total", "listener", "SSL", "result", "failure"}
	if s.known {
		message, counter = "connection refused", []string{"kaasd_authentications_total", "listener", "SSL", "mechanism", "TLS", "result", "failure"}
	}
	if got != "refused" {
		t.Errorf("got in as %.100q", got)
	}
	eventually(t, "it is counted", func() bool { return scrape(t, b).sum(counter[0], counter[1:]...) == 1 })
	eventually(t, "it is told", func() bool { return lines.FilterMessage(message).Len() == 1 })
	line := lines.FilterMessage(message).All()[0].ContextMap()
	if told := fmt.Sprint(line["error"]); !strings.Contains(told, s.reason) || len(told) > 1024 {
		t.Errorf("the log says %.2000q, want %q", told, s.reason)
	}
	mustDialTLS(t, b.SSL, n.client(pkix.Name{CommonName: "alice"})).versions() // and others are served
}

// TestStrangeCertificates: whatever a trusted authority has signed, nobody is
// taken for somebody else, and what is refused is told and counted.
func TestStrangeCertificates(t *testing.T) {
	n := newNotary(t)
	alice := pkix.Name{CommonName: "alice"}
	signed := func(changes ...func(*x509.Certificate)) tls.Certificate {
		return n.Issue(t, alice, nil, changes...).TLS()
	}
	named := func(name string) tls.Certificate { return n.Issue(t, pkix.Name{CommonName: name}, nil).TLS() }
	chain := func(length int) tls.Certificate {
		made, link := signed(), named("link").Certificate[0]
		for range length {
			made.Certificate = append(made.Certificate, link)
		}
		return made
	}
	hour := func(from, until time.Duration) tls.Certificate {
		return signed(certificatetest.Valid(time.Now().Add(from*time.Hour), time.Now().Add(until*time.Hour)))
	}
	two := func(c *x509.Certificate) {
		cn := asn1.ObjectIdentifier{2, 5, 4, 3}
		c.RawSubject, _ = asn1.Marshal(pkix.RDNSequence{{{Type: cn, Value: "alice"}}, {{Type: cn, Value: "evil"}}})
	}
	const hoarding, unread = "more bytes of TLS than anybody needs", "failed to parse client certificate"
	for _, s := range []stranger{
		{name: "a user's", shows: signed(), want: "User:carol"},
		{name: "the same in another encoding", shows: signed(commonName(asn1.TagBMPString, "\x00a\x00l\x00i\x00c\x00e")), want: "User:carol"},
		{name: "NUL in the middle", shows: named("alice\x00.evil"), want: `User:CN=alice\00.evil`},
		{name: "NUL at the end", shows: named("alice\x00"), want: `User:CN=alice\00`},
		{name: "NUL in front", shows: named("\x00alice"), want: `User:CN=\00alice`},
		{name: "NUL in IA5", shows: signed(commonName(asn1.TagIA5String, "alice\x00.evil")), want: `User:CN=alice\00.evil`},
		{name: "NUL in T61", shows: signed(commonName(asn1.TagT61String, "alice\x00.evil")), want: `User:CN=alice\00.evil`},
		{name: "NUL where it cannot be", shows: signed(commonName(asn1.TagPrintableString, "alice\x00.evil")), reason: unread},
		{name: "half a letter", shows: signed(commonName(asn1.TagBMPString, "\x00a\x00")), reason: unread},
		{name: "not UTF-8", shows: signed(commonName(asn1.TagUTF8String, "al\xffice")), reason: unread},
		{name: "no text", shows: signed(commonName(asn1.TagOctetString, "alice")), reason: unread},
		{name: "controls", shows: named("alice\n\r\x1b[2J\u202e"), want: "User:CN=alice\n\r\x1b[2J\u202e"},
		{name: "an end of line", shows: named("alice\n"), want: "User:CN=alice\n"},
		{name: "a blank", shows: named("alice "), want: `User:CN=alice\ `},
		{name: "another attribute in it", shows: named("alice,OU=admins"), want: `User:CN=alice\,OU\=admins`},
		{name: "two common names", shows: signed(two), want: "User:CN=evil,CN=alice"},
		{name: "4 KB of name", shows: named(strings.Repeat("x", 4093)), want: "User:CN=" + strings.Repeat("x", 4093)},
		{name: "more of it", shows: named(strings.Repeat("x", 4094)), known: true, reason: "has 4097 bytes (at most 4096"},
		{name: "32 KB of name", shows: named(strings.Repeat("\x00", 32<<10)), known: true, reason: "has 98307 bytes (at most 4096"},
		{name: "no name", shows: n.Issue(t, pkix.Name{}, nil).TLS(), known: true, reason: "is empty"},
		{name: "1000 names of hosts", shows: signed(withNames(1000)), want: "User:carol"},
		{name: "128 KB of name", shows: named(strings.Repeat("x", 128<<10)), reason: hoarding},
		{name: "8000 names of hosts", shows: signed(withNames(8000)), reason: hoarding},
		{name: "a chain of 100", shows: chain(100), want: "User:carol"},
		{name: "a chain of 400", shows: chain(400), reason: hoarding},
		{name: "ended", shows: hour(-2, -1), reason: "certificate has expired or is not yet valid: current time"},
		{name: "not begun", shows: hour(1, 2), reason: "certificate has expired or is not yet valid: current time"},
		{name: "of another authority", shows: certificatetest.NewAuthority(t, "ca").Issue(t, alice, nil).TLS(), reason: "certificate signed by unknown authority"},
	} {
		t.Run(s.name, func(t *testing.T) { s.visit(t, n) })
	}
}

// TestPairsOutOfTime: what cannot be good yet or any more does not replace what
// is; at the start it is served, and clients refuse it.
func TestPairsOutOfTime(t *testing.T) {
	n := newNotary(t)
	core, lines := observer.New(zapcore.InfoLevel)
	b := brokertest.StartLogged(t, zap.New(core), n.listeners)
	before := shown(t, b, n.client())
	hour := func(from, until time.Duration) {
		n.renew(certificatetest.Valid(time.Now().Add(from*time.Hour), time.Now().Add(until*time.Hour)))
	}
	for want, renew := range map[string]func(){
		"a certificate in it has expired at":  func() { hour(-2, -1) },
		"the certificate is not valid before": func() { hour(1, 2) },
	} {
		renew()
		if text, err := b.ReloadFiles(credstore.TriggerSignal); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s, %v, want %q", text, err, want)
		}
		if got := shown(t, b, n.client()); got != before {
			t.Errorf("%s: shows %s, want %s", want, got, before)
		}
		if got := scrape(t, b).sum("kaasd_tls_last_reload_successful"); got != 0 {
			t.Errorf("%s: the gauge says %v", want, got)
		}
		told := lines.FilterMessage("certificates not reloaded, the last good ones stay in force").Filter(func(e observer.LoggedEntry) bool {
			return strings.Contains(fmt.Sprint(e.ContextMap()["error"]), want)
		})
		if told.Len() == 0 {
			t.Errorf("the log does not say %q", want)
		}
	}
	core, lines = observer.New(zapcore.InfoLevel)
	hour(-2, -1)
	b = brokertest.StartLogged(t, zap.New(core), n.listeners)
	if _, err := dialTLS(t, b.SSL, n.client()); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a client says %v", err)
	}
	if told := lines.FilterMessage("a certificate is shown that clients refuse").FilterLevelExact(zapcore.ErrorLevel).Len(); told != 1 {
		t.Errorf("told %d times", told)
	}
	if ends := scrape(t, b).sum("kaasd_tls_certificate_not_after_timestamp_seconds", "file", n.path("tls.crt")); ends >= float64(time.Now().Unix()) || ends == 0 {
		t.Errorf("the metric says that it ends at %v", ends)
	}
	n.renew()
	eventually(t, "a good one is taken", func() bool {
		_, err := dialTLS(t, b.SSL, n.client())
		return err == nil
	})
}
