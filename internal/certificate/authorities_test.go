package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/certificate/certificatetest"
)

// hours is the change that makes a certificate good from some hours after now on
// until others.
func hours(from, until time.Duration) func(*x509.Certificate) {
	now := time.Now().Truncate(time.Second)
	return certificatetest.Valid(now.Add(from*time.Hour), now.Add(until*time.Hour))
}

// noCA is the change that makes an authority none.
func noCA(c *x509.Certificate) { c.IsCA, c.KeyUsage = false, x509.KeyUsageDigitalSignature }

// bundle is the file of some authorities.
func bundle(all ...*certificatetest.Authority) []byte {
	var data []byte
	for _, a := range all {
		data = append(data, a.Cert...)
	}
	return data
}

// lets says whether a client with a certificate is let in. The client shows it whatever
// authorities it is told of.
func lets(t *testing.T, s *Store, client tls.Certificate) bool {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	ended := make(chan bool)
	show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client, nil }
	go func() {
		tls.Client(far, &tls.Config{InsecureSkipVerify: true, GetClientCertificate: show}).Handshake()
		io.Copy(io.Discard, far) // what the other end says last
		close(ended)
	}()
	err := tls.Server(near, s.For(Required).Config()).Handshake()
	near.Close()
	<-ended
	return err == nil
}

// of is a client's certificate by an authority.
func of(t *testing.T, a *certificatetest.Authority, changes ...func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	return a.Issue(t, pkix.Name{CommonName: "client"}, nil, changes...).TLS()
}

// TestAuthoritiesReload: a bundle of which nothing counts does not take the place of
// one of which something does.
func TestAuthoritiesReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		good, ended := certificatetest.NewAuthority(t, "good"), certificatetest.NewAuthority(t, "ended", hours(-2, -1))
		older, late := certificatetest.NewAuthority(t, "older", hours(-4, -3)), certificatetest.NewAuthority(t, "late", hours(2, 9))
		soon := certificatetest.NewAuthority(t, "soon", hours(1, 9))
		d.trust(bundle(good))
		core, logs := observer.New(zap.WarnLevel)
		s, err := d.openLogged(zap.New(core), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			name, want string
			trusted    []*certificatetest.Authority
		}{
			{"ended", "all authorities in it have expired, the last at 1999-12-31T23:00:00Z", []*certificatetest.Authority{older, ended}},
			{"not begun", "no authority in it is valid before 2000-01-01T01:00:00Z (is the clock right?)", []*certificatetest.Authority{late, soon}},
			{"ended and not begun", "no authority in it is valid before 2000-01-01T02:00:00Z (is the clock right?)", []*certificatetest.Authority{ended, late}},
		} {
			d.trust(bundle(step.trusted...))
			r := s.Reload("signal")
			if want := "tls.client.ca.file: " + d.ClientCA + ": " + step.want; r.Outcome != Failed || r.Err.Error() != want || s.Status().Error != want {
				t.Errorf("%s: got %v, status %+v, want %s", step.name, r, s.Status(), want)
			}
			if !lets(t, s, of(t, good)) || testutil.ToFloat64(s.metrics.reloads.Successful) != 0 {
				t.Errorf("%s: the last good ones are not in force, or the gauge says all is well", step.name)
			}
		}
		if got := logs.FilterMessage("certificates not reloaded, the last good ones stay in force").FilterLevelExact(zap.ErrorLevel).Len(); got != 3 || logs.Len() != 3 {
			t.Errorf("told %v", logs.All())
		}
	})
}

// TestRenewedBesideAuthoritiesThatEnded: what is in force already holds up no other.
func TestRenewedBesideAuthoritiesThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.trust(certificatetest.NewAuthority(t, "brief", hours(-1, 1)).Cert)
		s := d.mustOpen()
		time.Sleep(2 * time.Hour)
		next := d.issue()
		d.put(next)
		if r := s.Reload("signal"); r.Outcome != Applied || serial(s) != next.Serial().String() {
			t.Errorf("got %v", r)
		}
	})
}

// TestAuthoritiesBesideAPairThatEnded: nor does a pair.
func TestAuthoritiesBesideAPairThatEnded(t *testing.T) {
	d := newDesk(t)
	d.put(d.issue(hours(-2, -1)))
	d.trust(certificatetest.NewAuthority(t, "first").Cert)
	s := d.mustOpen()
	second := certificatetest.NewAuthority(t, "second")
	d.trust(second.Cert)
	if r := s.Reload("signal"); r.Outcome != Applied || !lets(t, s, of(t, second)) {
		t.Errorf("got %v", r)
	}
}

// TestAuthoritiesThatHaveNotBegun are tried again when they have.
func TestAuthoritiesThatHaveNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.trust(d.authority.Cert)
		s := d.mustOpen()
		s.watchers = nil // real events have no place here
		next := certificatetest.NewAuthority(t, "next", hours(1, 24))
		d.trust(next.Cert)
		if r := s.Reload("signal"); r.Outcome != Failed {
			t.Fatalf("got %v", r)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		client := of(t, next)
		time.Sleep(time.Hour - time.Second)
		if lets(t, s, client) {
			t.Error("in force before it has begun")
		}
		time.Sleep(s.options.Watch.Look + 2*time.Second)
		if !lets(t, s, client) {
			t.Error("not in force after it has begun")
		}
		stop()
		<-done
	})
}

// TestAuthoritiesAtTheStart: there is no last good set, so that what does not count is
// taken, and told of.
func TestAuthoritiesAtTheStart(t *testing.T) {
	good, ended := certificatetest.NewAuthority(t, "good"), certificatetest.NewAuthority(t, "ended", hours(-2, -1))
	soon, pinned := certificatetest.NewAuthority(t, "soon", hours(1, 2)), certificatetest.NewAuthority(t, "pinned", noCA)
	bare := certificatetest.NewAuthority(t, "bare", func(c *x509.Certificate) { c.BasicConstraintsValid, c.IsCA = false, false })
	until := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	const refused = "error clients' certificates are refused, no authority of theirs counts "
	const barren = "warn certificates among the authorities are no authorities, they let in who shows them and nobody else "
	for name, test := range map[string]struct {
		trusted []*certificatetest.Authority
		told    []string
	}{
		"good":                {[]*certificatetest.Authority{good}, nil},
		"one to come":         {[]*certificatetest.Authority{good, soon}, nil},
		"ended":               {[]*certificatetest.Authority{ended}, []string{refused + "all authorities in it have expired, the last at " + until}},
		"not begun":           {[]*certificatetest.Authority{soon}, []string{refused + "no authority in it is valid before "}},
		"one of two ended":    {[]*certificatetest.Authority{ended, good}, []string{"warn authorities have expired, clients of them are refused [CN=ended, until " + until + "]"}},
		"no authority":        {[]*certificatetest.Authority{pinned}, []string{barren + "[CN=pinned]"}},
		"no basic constraint": {[]*certificatetest.Authority{good, bare}, []string{barren + "[CN=bare]"}},
		"all of it": {[]*certificatetest.Authority{ended, pinned, good}, []string{
			"warn authorities have expired, clients of them are refused [CN=ended, until " + until + "]", barren + "[CN=pinned]"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.trust(bundle(test.trusted...))
			core, logs := observer.New(zap.WarnLevel)
			s, err := d.openLogged(zap.New(core), nil)
			if err != nil {
				t.Fatal(err)
			}
			if told := lines(logs, d.ClientCA); !slices.EqualFunc(told, test.told, strings.HasPrefix) {
				t.Errorf("told %q\nwant %q", told, test.told)
			}
			for _, a := range test.trusted {
				if got, want := lets(t, s, of(t, a)), a == good; got != want {
					t.Errorf("a client of %p is let in: %t, want %t", a, got, want)
				}
			}
		})
	}
}

// lines are what was told of a file.
func lines(logs *observer.ObservedLogs, file string) []string {
	var all []string
	for _, e := range logs.All() {
		fields := e.ContextMap()
		what := fields["certificates"]
		if text, ok := fields["error"].(string); ok {
			what = strings.TrimPrefix(text, "tls.client.ca.file: "+file+": ")
		}
		all = append(all, fmt.Sprint(e.Level, " ", e.Message, " ", what))
	}
	return all
}

// TestNoAuthorityLetsItselfIn, as in Java, and nobody whom it issued.
func TestNoAuthorityLetsItselfIn(t *testing.T) {
	d := newDesk(t)
	pinned := certificatetest.NewAuthority(t, "pinned", noCA)
	leaf := d.issue() // of an authority that is not trusted
	d.trust(append(bundle(pinned), leaf.Cert...))
	s := d.mustOpen()
	for name, test := range map[string]struct {
		client tls.Certificate
		want   bool
	}{
		"pinned":          {pinned.TLS(), true},
		"issued by it":    {of(t, pinned), false},
		"pinned leaf":     {leaf.TLS(), true},
		"its sister":      {of(t, d.authority), false},
		"somebody's else": {of(t, certificatetest.NewAuthority(t, "else")), false},
	} {
		if got := lets(t, s, test.client); got != test.want {
			t.Errorf("%s: let in %t, want %t", name, got, test.want)
		}
	}
}

// TestWhenAuthoritiesEnd: the gauge and the status tell it, and an old one in the
// bundle does not cry for ever.
func TestWhenAuthoritiesEnd(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	make := func(until time.Duration) *certificatetest.Authority {
		return certificatetest.NewAuthority(t, "ca", hours(-9, until))
	}
	for name, test := range map[string]struct {
		trusted []*certificatetest.Authority
		ends    time.Duration // hours from now
		first   time.Duration // with the pair, which ends in 100 hours
	}{
		"one":            {[]*certificatetest.Authority{make(5)}, 5, 5},
		"the first":      {[]*certificatetest.Authority{make(7), make(5)}, 5, 5},
		"an old one":     {[]*certificatetest.Authority{make(-1), make(7)}, 7, 7},
		"all old":        {[]*certificatetest.Authority{make(-1), make(-3)}, -1, -1},
		"after the pair": {[]*certificatetest.Authority{make(500)}, 500, 100},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.put(d.issue(hours(-1, 100)))
			d.trust(bundle(test.trusted...))
			s := d.mustOpen()
			for file, want := range map[string]time.Duration{d.ClientCA: test.ends, d.Certs[0]: 100} {
				if got := testutil.ToFloat64(s.metrics.notAfter.WithLabelValues(file)); got != float64(now.Add(want*time.Hour).Unix()) {
					t.Errorf("%s: the gauge says %v, want %v", file, got, now.Add(want*time.Hour).Unix())
				}
			}
			want := now.Add(test.first * time.Hour)
			if got, r := s.Status().NotAfter, s.Reload("signal"); !got.Equal(want) || !r.NotAfter.Equal(want) {
				t.Errorf("the status says %v, a reload %v, want %v", got, r.NotAfter, want)
			}
		})
	}
}

// TestOneFileShowsAndTrusts: the end that is first counts.
func TestOneFileShowsAndTrusts(t *testing.T) {
	for _, test := range []struct{ shown, trusted, want time.Duration }{{5, 7, 5}, {7, 5, 5}} {
		d := newDesk(t)
		now := time.Now().Truncate(time.Second)
		d.put(d.issue(certificatetest.Valid(now.Add(-time.Hour), now.Add(test.shown*time.Hour))))
		d.write(d.Certs[0], append(d.read(d.Certs[0]), certificatetest.NewAuthority(t, "ca", hours(-1, test.trusted)).Cert...))
		d.ClientCA = d.Certs[0]
		s := d.mustOpen()
		if got, want := testutil.ToFloat64(s.metrics.notAfter.WithLabelValues(d.ClientCA)), float64(now.Add(test.want*time.Hour).Unix()); got != want || testutil.CollectAndCount(s.metrics.notAfter) != 1 {
			t.Errorf("%+v: the gauge says %v, want %v", test, got, want)
		}
	}
}
