package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/certificate/certificatetest"
)

// desk is a folder with the files of a store, and who signs for it.
type desk struct {
	t         *testing.T
	authority *certificatetest.Authority
	Files
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, authority: certificatetest.NewAuthority(t, "ca")}
	dir := t.TempDir()
	d.Certs, d.Keys = []string{filepath.Join(dir, "tls.crt")}, []string{filepath.Join(dir, "tls.key")}
	d.put(d.issue())
	return d
}

func (d *desk) issue(changes ...func(*x509.Certificate)) certificatetest.Pair {
	d.t.Helper()
	return d.authority.Issue(d.t, pkix.Name{CommonName: "kafka"}, []string{"kafka.example"}, changes...)
}

func (d *desk) put(p certificatetest.Pair) {
	d.t.Helper()
	p.Write(d.t, filepath.Dir(d.Certs[0]))
}

// trust makes a bundle of authorities of clients.
func (d *desk) trust(bundle []byte) {
	d.ClientCA = filepath.Join(filepath.Dir(d.Certs[0]), "ca.crt")
	d.write(d.ClientCA, bundle)
}

func (d *desk) write(path string, data []byte) {
	d.t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(path string) []byte {
	d.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return data
}

// mark puts a mark of byte order in front, as some editors of Windows do.
func (d *desk) mark(path string) { d.write(path, append([]byte("\uFEFF"), d.read(path)...)) }

// cut leaves the half of a file.
func (d *desk) cut(path string) {
	data := d.read(path)
	d.write(path, data[:len(data)/2])
}

func (d *desk) open() (*Store, error) { return d.openLogged(zap.NewNop(), nil) }

func (d *desk) openLogged(log *zap.Logger, reg prometheus.Registerer) (*Store, error) {
	o := DefaultOptions()
	o.Files, o.Watch.Quiet = d.Files, 20*time.Millisecond
	return Open(o, log, reg)
}

func (d *desk) mustOpen() *Store {
	d.t.Helper()
	s, err := d.open()
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// serial is the number of the certificate that the next handshake shows.
func serial(s *Store) string { return s.For(None).Config().Certificates[0].Leaf.SerialNumber.String() }

func TestOpenNamesWhatIsWrong(t *testing.T) {
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}})
	old := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: []byte{1}})
	damaged := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})
	tests := map[string]struct {
		spoil func(d *desk)
		want  string
	}{
		"no certificate": {func(d *desk) { os.Remove(d.Certs[0]) }, "tls.cert.file: CERT: no such file or directory"},
		"no key":         {func(d *desk) { os.Remove(d.Keys[0]) }, "tls.key.file: KEY: no such file or directory"},
		"nothing there": {func(d *desk) {
			os.RemoveAll(filepath.Dir(d.Certs[0]))
			d.ClientCA = filepath.Join(filepath.Dir(d.Certs[0]), "ca.crt")
		},
			"tls.cert.file: CERT: no such file or directory; tls.key.file: KEY: no such file or directory; tls.client.ca.file: CA: no such file or directory"},
		"one file for both":    {func(d *desk) { os.Remove(d.Keys[0]); d.Certs[0] = d.Keys[0] }, "tls.cert.file: KEY: no such file or directory; tls.key.file: KEY: no such file or directory"},
		"a folder":             {func(d *desk) { os.Remove(d.Keys[0]); os.Mkdir(d.Keys[0], 0o700) }, "tls.key.file: KEY: not a regular file"},
		"too large":            {func(d *desk) { d.write(d.Certs[0], make([]byte, maxSize+1)) }, "tls.cert.file: CERT: more than 1048576 bytes"},
		"empty":                {func(d *desk) { d.write(d.Certs[0], nil) }, "tls.cert.file: CERT: there is no certificate in it (PEM, BEGIN CERTIFICATE)"},
		"damaged":              {func(d *desk) { d.write(d.Certs[0], damaged) }, "tls.cert.file: CERT with key KEY: x509: malformed certificate"},
		"key of another":       {func(d *desk) { d.write(d.Keys[0], d.issue().Key) }, "tls.key.file: KEY: the key is not that of the certificate in CERT"},
		"files the wrong way":  {func(d *desk) { d.Certs, d.Keys = d.Keys, d.Certs }, "tls.cert.file: KEY: there is no certificate in it (PEM, BEGIN CERTIFICATE)"},
		"no key in it":         {func(d *desk) { d.write(d.Keys[0], []byte("hush")) }, "tls.key.file: KEY: there is no private key in it (PEM, BEGIN PRIVATE KEY)"},
		"encrypted key":        {func(d *desk) { d.write(d.Keys[0], encrypted) }, "tls.key.file: KEY: the key is encrypted (kaasd asks for no passphrase: openssl pkey takes it off, the file's mode protects it)"},
		"encrypted, old style": {func(d *desk) { d.write(d.Keys[0], old) }, "tls.key.file: KEY: the key is encrypted (kaasd asks for no passphrase: openssl pkey takes it off, the file's mode protects it)"},
		"chain damaged":        {func(d *desk) { d.write(d.Certs[0], append(d.issue().Cert, damaged...)) }, "tls.key.file: KEY: the key is not that of the certificate in CERT"},
		"no authority":         {func(d *desk) { d.trust([]byte("# none\n")) }, "tls.client.ca.file: CA: there is no certificate in it (PEM, BEGIN CERTIFICATE)"},
		"authority damaged":    {func(d *desk) { d.trust(append(d.authority.Cert, damaged...)) }, "tls.client.ca.file: CA: certificate 2: x509: malformed certificate"},
		"a mark in front":      {func(d *desk) { d.mark(d.Certs[0]); d.mark(d.Keys[0]); d.mark(d.Certs[0]) }, "<nil>"},
		"UTF-16":               {func(d *desk) { d.write(d.Certs[0], []byte("\xff\xfe-\x00-\x00")) }, "tls.cert.file: CERT: it is UTF-16, as some editors of Windows write (save it as UTF-8 or ASCII)"},
		"UTF-16, other ends":   {func(d *desk) { d.write(d.Keys[0], []byte("\xfe\xff\x00-\x00-")) }, "tls.key.file: KEY: it is UTF-16, as some editors of Windows write (save it as UTF-8 or ASCII)"},
		"cut off":              {func(d *desk) { d.cut(d.Certs[0]) }, "tls.cert.file: CERT: block 1 has no end (-----END): the file is cut off"},
		"key cut off":          {func(d *desk) { d.cut(d.Keys[0]) }, "tls.key.file: KEY: block 1 has no end (-----END): the file is cut off"},
		"chain cut off":        {func(d *desk) { d.write(d.Certs[0], append(d.read(d.Certs[0]), d.authority.Cert[:200]...)) }, "tls.cert.file: CERT: block 2 has no end (-----END): the file is cut off"},
		"authorities cut off":  {func(d *desk) { d.trust(append(d.authority.Cert, d.authority.Cert[:200]...)) }, "tls.client.ca.file: CA: block 2 has no end (-----END): the file is cut off"},
		"authorities with a mark between": {func(d *desk) { d.trust(append(append(d.read(d.Certs[0]), "\uFEFF"...), damaged...)) },
			"tls.client.ca.file: CA: certificate 2: x509: malformed certificate"},
		"no base64": {func(d *desk) {
			d.write(d.Certs[0], []byte("-----BEGIN CERTIFICATE-----\n(snip)\n-----END CERTIFICATE-----\n"))
		},
			"tls.cert.file: CERT: of 1 blocks 0 can be read (lines of base64 between -----BEGIN and -----END): the file is damaged"},
		"joined without a line feed": {func(d *desk) { d.trust(append(bytes.TrimSpace(d.authority.Cert), d.authority.Cert...)) },
			"tls.client.ca.file: CA: of 2 blocks 0 can be read (lines of base64 between -----BEGIN and -----END): the file is damaged"},
		"a comment in it": {func(d *desk) {
			d.write(d.Certs[0], append([]byte("# -----BEGIN CERTIFICATE-----\n"), d.read(d.Certs[0])...))
		}, "<nil>"},
		"key among authorities": {func(d *desk) { d.trust(append(d.authority.Cert, d.issue().Key...)) },
			`tls.client.ca.file: CA: a block of type "PRIVATE KEY" stands in it (certificates alone belong there)`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			cert, key := d.Certs[0], d.Keys[0]
			test.spoil(d)
			_, err := d.open()
			got := strings.NewReplacer(cert, "CERT", key, "KEY", filepath.Join(filepath.Dir(cert), "ca.crt"), "CA").Replace(fmt.Sprint(err))
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestReloadStory(t *testing.T) {
	d := newDesk(t)
	core, logs := observer.New(zap.InfoLevel)
	s, err := d.openLogged(zap.New(core), nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := d.issue(), d.issue()
	past := d.issue(certificatetest.Valid(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)))
	future := d.issue(certificatetest.Valid(time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)))
	steps := []struct {
		name    string
		change  func()
		outcome Outcome
		shown   certificatetest.Pair
		gauge   float64
	}{
		{"another pair", func() { d.put(first) }, Applied, first, 1},
		{"the same", func() {}, Unchanged, first, 1},
		{"half of the next", func() { d.write(d.Certs[0], second.Cert) }, Failed, first, 0},
		{"the other half", func() { d.write(d.Keys[0], second.Key) }, Applied, second, 1},
		{"gone", func() { os.Remove(d.Keys[0]) }, Failed, second, 0},
		{"back", func() { d.put(second) }, Unchanged, second, 1},
		{"ended", func() { d.put(past) }, Failed, second, 0},
		{"not begun", func() { d.put(future) }, Failed, second, 0},
		{"damaged", func() { d.write(d.Certs[0], []byte("x")) }, Failed, second, 0},
		{"good again", func() { d.put(first) }, Applied, first, 1},
	}
	for _, step := range steps {
		step.change()
		r := s.Reload("signal")
		if r.Outcome != step.outcome || (r.Err != nil) != (r.Outcome == Failed) || serial(s) != step.shown.Serial().String() {
			t.Errorf("%s: got %v and certificate %s, want %s", step.name, r, serial(s), step.outcome)
		}
		if got := testutil.ToFloat64(s.metrics.reloads.Successful); got != step.gauge {
			t.Errorf("%s: gauge %v, want %v", step.name, got, step.gauge)
		}
		if status := s.Status(); (status.Error != "") != (r.Outcome == Failed) || !status.NotAfter.Equal(r.NotAfter) {
			t.Errorf("%s: status %+v after %v", step.name, status, r)
		}
	}
	if got, want := logs.FilterMessage("certificates not reloaded, the last good ones stay in force").Len(), 5; got != want {
		t.Errorf("got %d error lines, want %d", got, want)
	}
	for _, e := range logs.All() {
		for _, secret := range []string{string(first.Key), string(second.Key)} {
			if strings.Contains(fmt.Sprint(e.Message, e.ContextMap()), secret[30:60]) {
				t.Errorf("a key in the log: %v", e)
			}
		}
	}
}

// TestOneFaultIsOneLine: several files change, and are noticed one by one.
func TestOneFaultIsOneLine(t *testing.T) {
	d := newDesk(t)
	core, logs := observer.New(zap.ErrorLevel)
	s, err := d.openLogged(zap.New(core), nil)
	if err != nil {
		t.Fatal(err)
	}
	d.write(d.Keys[0], nil)
	for _, c := range []struct {
		trigger string
		lines   int
	}{{"watch", 1}, {"watch", 1}, {"poll", 1}, {"signal", 2}, {"http", 3}, {"watch", 3}} {
		if s.Reload(c.trigger); logs.Len() != c.lines {
			t.Errorf("%s: %d lines, want %d", c.trigger, logs.Len(), c.lines)
		}
	}
	d.write(d.Certs[0], nil)
	if s.Reload("watch"); logs.Len() != 4 {
		t.Errorf("another fault: %d lines, want 4", logs.Len())
	}
}

// TestOpenServesWhatHasEnded: without a last good set, TLS listeners that
// clients refuse are better than none of the listeners at all.
func TestOpenServesWhatHasEnded(t *testing.T) {
	d := newDesk(t)
	past := d.issue(certificatetest.Valid(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)))
	d.put(past)
	core, logs := observer.New(zap.ErrorLevel)
	s, err := d.openLogged(zap.New(core), nil)
	if err != nil {
		t.Fatal(err)
	}
	if serial(s) != past.Serial().String() || logs.Len() != 1 {
		t.Errorf("got certificate %s and %d error lines, want it shown and one line", serial(s), logs.Len())
	}
}

// TestTheChainCounts: an intermediate that ends first ends the certificate.
func TestTheChainCounts(t *testing.T) {
	d := newDesk(t)
	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	d.write(d.Certs[0], append(append([]byte(nil), d.chain(soon)...), d.authority.Cert...))
	reg := prometheus.NewRegistry()
	s, err := d.openLogged(zap.NewNop(), reg)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Status().NotAfter; !got.Equal(soon) {
		t.Errorf("ends %v, want %v", got, soon)
	}
	if got := testutil.ToFloat64(s.metrics.notAfter.WithLabelValues(d.Certs[0])); got != float64(soon.Unix()) {
		t.Errorf("metric says %v, want %d", got, soon.Unix())
	}
}

// chain is the certificate in the folder with one behind it that ends soon.
func (d *desk) chain(soon time.Time) []byte {
	cert, err := os.ReadFile(d.Certs[0])
	if err != nil {
		d.t.Fatal(err)
	}
	return append(cert, d.issue(certificatetest.Valid(time.Now().Add(-time.Hour), soon)).Cert...)
}

// TestWhatHasNotBegunIsTriedAgain: its files do not change when it begins.
func TestWhatHasNotBegunIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		s := d.mustOpen()
		s.watchers = nil // real events have no place here
		begins := time.Now().Add(time.Hour).Truncate(time.Second)
		next := d.issue(certificatetest.Valid(begins, begins.Add(24*time.Hour)))
		d.put(next)
		if r := s.Reload("signal"); r.Outcome != Failed {
			t.Fatalf("got %v", r)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		time.Sleep(time.Until(begins) - time.Second)
		if serial(s) == next.Serial().String() {
			t.Error("in force before it has begun")
		}
		time.Sleep(s.options.Watch.Look + 2*time.Second)
		if serial(s) != next.Serial().String() {
			t.Error("not in force after it has begun")
		}
		stop()
		<-done
	})
}

func TestClientAuthNeedsAuthorities(t *testing.T) {
	d := newDesk(t)
	if got := d.mustOpen().For(Required).Config(); got != nil {
		t.Error("clients are trusted without authorities")
	}
	d.trust(d.authority.Cert)
	s := d.mustOpen()
	for auth, want := range map[ClientAuth]tls.ClientAuthType{None: tls.NoClientCert, Requested: tls.VerifyClientCertIfGiven, Required: tls.RequireAndVerifyClientCert} {
		if got := s.For(auth).Config(); got.ClientAuth != want || got.MinVersion != tls.VersionTLS12 {
			t.Errorf("%s: %v from version %x", auth, got.ClientAuth, got.MinVersion)
		}
	}
}

func TestFilesValidate(t *testing.T) {
	for want, f := range map[string]Files{
		"tls.cert.file: a listener with TLS needs a certificate, and tls.key.file its key": {},
		"tls.cert.file: tls.key.file needs the certificate to its key":                     {Keys: []string{"k"}},
		"tls.key.file: tls.cert.file needs the key to its certificate":                     {Certs: []string{"c"}},
		"tls.key.file: 1 keys for 2 certificates (one for each, in their order)":           {Certs: []string{"c", "d"}, Keys: []string{"k"}},
		"<nil>": {Certs: []string{"c"}, Keys: []string{"c"}},
	} {
		if got := fmt.Sprint(f.Validate()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// follow runs the store on real events, without the help of the slow look.
func (d *desk) follow() *Store {
	d.t.Helper()
	o := DefaultOptions()
	o.Files, o.Watch.Quiet, o.Watch.Look = d.Files, 20*time.Millisecond, time.Hour
	s, err := Open(o, zap.NewNop(), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	d.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			d.t.Error(err)
		}
	})
	return s
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not seen: %s", what)
		}
	}
}

// TestRunFollowsTheFiles: replaced in place, by rename, and as Kubernetes does.
func TestRunFollowsTheFiles(t *testing.T) {
	dir := t.TempDir()
	d := &desk{t: t, authority: certificatetest.NewAuthority(t, "ca")}
	d.Certs, d.Keys = []string{filepath.Join(dir, "tls.crt")}, []string{filepath.Join(dir, "tls.key")}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	d.put(d.issue())
	s := d.follow()
	ways := []struct {
		name string
		put  func(p certificatetest.Pair)
	}{
		{"in place", d.put},
		{"by rename", func(p certificatetest.Pair) {
			cert, key := p.Write(t, t.TempDir())
			must(os.Rename(cert, d.Certs[0]))
			must(os.Rename(key, d.Keys[0]))
		}},
		{"in place after the rename", d.put},
		{"links to a volume", func(p certificatetest.Pair) {
			must(os.Mkdir(filepath.Join(dir, "..one"), 0o700))
			p.Write(t, filepath.Join(dir, "..one"))
			must(os.Symlink("..one", filepath.Join(dir, "..data")))
			for _, path := range []string{d.Certs[0], d.Keys[0]} {
				must(os.Remove(path))
				must(os.Symlink(filepath.Join("..data", filepath.Base(path)), path))
			}
		}},
		{"a swap of the volume", func(p certificatetest.Pair) {
			must(os.Mkdir(filepath.Join(dir, "..two"), 0o700))
			p.Write(t, filepath.Join(dir, "..two"))
			must(os.Symlink("..two", filepath.Join(dir, "..tmp")))
			must(os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
			must(os.RemoveAll(filepath.Join(dir, "..one")))
		}},
	}
	for _, way := range ways {
		next := d.issue()
		way.put(next)
		eventually(t, way.name, func() bool { return serial(s) == next.Serial().String() })
	}
}
