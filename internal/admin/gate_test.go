package admin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/crypto/bcrypt"

	"kaasd/internal/auth"
	"kaasd/internal/certificate"
	"kaasd/internal/certificate/certificatetest"
)

// hashed is a line of basic_auth_users.
func hashed(t *testing.T, user, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("  %s: '%s'\n", user, hash)
}

// gateFile writes an http.config.file.
func gateFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "web.yml")
	put(t, path, content)
	return path
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, path string, log *zap.Logger) *Gate {
	t.Helper()
	g, err := OpenGate(path, auth.AddressTries, log, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// visit asks for a page with a user and a password, "" being none.
func visit(g *Gate, method, target, user, password string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, target, nil)
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	New(Options{Gate: g, Lifecycle: true}, house(), zap.NewNop()).ServeHTTP(w, r)
	return w
}

func TestPasswords(t *testing.T) {
	g := mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right")), zap.NewNop())
	for _, c := range []struct {
		method, target, user, password string
		want                           int
	}{
		{"GET", "/metrics", "", "", 401},
		{"GET", "/metrics", "prom", "wrong", 401},
		{"GET", "/metrics", "prom", "", 401},
		{"GET", "/metrics", "other", "right", 401},
		{"GET", "/metrics", "prom", "right", 200},
		{"GET", "/metrics", "prom", "right", 200},
		{"GET", "/", "", "", 401},
		{"GET", "/nowhere", "", "", 401},
		{"POST", "/-/reload", "", "", 401},
		{"POST", "/-/reload", "prom", "right", 200},
		{"GET", "/readyz", "", "", 200},
		{"HEAD", "/livez", "", "", 200},
		{"GET", "/healthz", "", "", 200},
		{"GET", "/readyz?verbose", "", "", 401},
		{"POST", "/readyz", "", "", 401},
		{"GET", "/readyz/", "", "", 401},
	} {
		w := visit(g, c.method, c.target, c.user, c.password)
		if w.Code != c.want {
			t.Errorf("%s %s as %q: got %d, want %d", c.method, c.target, c.user, w.Code, c.want)
		}
		if why := map[bool]string{true: "a user and a password are needed\n", false: "a user of that name and password is not known\n"}[c.user == ""]; c.want == 401 && w.Body.String() != why {
			t.Errorf("%s %s as %q: %s", c.method, c.target, c.user, w.Body)
		}
		if asks := w.Header().Get("WWW-Authenticate") != ""; asks != (c.want == 401) {
			t.Errorf("%s %s as %q asks for a password: %v", c.method, c.target, c.user, asks)
		}
	}
	if g.TLS() {
		t.Error("the pages are served over TLS")
	}
}

// Passwords cannot be guessed by trying, and the log holds none that was tried.
func TestTooManyPasswords(t *testing.T) {
	core, lines := observer.New(zap.DebugLevel)
	g := mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right")+hashed(t, "other", "right")), zap.New(core))
	for range 20 {
		if w := visit(g, "GET", "/", "prom", "hunter2"); w.Code != 401 {
			t.Fatalf("got %d", w.Code)
		}
	}
	visit(g, "GET", "/", "hunter2", "x")
	if w := visit(g, "GET", "/", "prom", "right"); w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("after twenty failures: %d", w.Code)
	}
	if w := visit(g, "GET", "/", "other", "right"); w.Code != 200 {
		t.Errorf("another user: %d", w.Code)
	}
	told := lines.FilterMessage("http log-in failed").All()
	if len(told) != 1 || told[0].ContextMap()["user"] != "prom" {
		t.Errorf("told: %v", told)
	}
	for _, line := range lines.All() {
		if strings.Contains(fmt.Sprint(line.Message, line.ContextMap()), "hunter2") {
			t.Errorf("a password was logged: %v", line)
		}
	}
}

// Somebody who fails at an address, as that of a load balancer, holds back others
// there, but not who has logged in.
func TestOneWhoFailsDoesNotLockOutAnAddressOfThePages(t *testing.T) {
	g := mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right")+hashed(t, "other", "right")), zap.NewNop())
	if w := visit(g, "GET", "/metrics", "prom", "right"); w.Code != 200 {
		t.Fatalf("got %d", w.Code)
	}
	for i := range auth.AddressTries {
		if wait, _, _ := g.tries.Fail("192.0.2.1", fmt.Sprintf("u%d", i), time.Now()); wait != 0 {
			t.Fatalf("failure %d is held back", i)
		}
	}
	g.turn <- struct{}{} // nothing of this is hashed, which would take longer for some
	for range 3 {
		if w := visit(g, "GET", "/metrics", "prom", "right"); w.Code != 200 {
			t.Errorf("who has logged in: %d", w.Code)
		}
	}
	for name, password := range map[string]string{"other": "right", "prom": "wrong", "nobody": "wrong"} {
		if w := visit(g, "GET", "/metrics", name, password); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: %d, %v", name, w.Code, w.Header())
		}
	}
	for range 20 {
		visit(g, "GET", "/metrics", "nobody", "wrong")
	}
	if later := time.Now().Add(time.Second); g.tries.Held("192.0.2.1", later) != 0 || g.tries.Wait("192.0.2.1", "nobody", later) == 0 {
		t.Error("what is refused unseen does not count as that of who has logged in")
	}
}

// A connection that has shown the right password is known when it asks again.
func TestScrapesGoOnOverTheirConnection(t *testing.T) {
	for _, again := range []bool{false, true} {
		g := mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right")), zap.NewNop())
		address := serving(t, g)
		scraper := &http.Client{Transport: &http.Transport{DisableKeepAlives: !again}}
		defer scraper.CloseIdleConnections()
		for _, want := range []int{200, map[bool]int{true: 200, false: 429}[again]} {
			r, err := http.NewRequest("GET", "http://"+address+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.SetBasicAuth("prom", "right")
			resp, err := scraper.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			if resp.Body.Close(); resp.StatusCode != want {
				t.Errorf("over one connection %v: got %d, want %d", again, resp.StatusCode, want)
			}
			for range 20 {
				g.tries.Fail("127.0.0.1", "prom", time.Now().Add(time.Hour)) // however long the next takes
			}
		}
	}
}

// A password that has been good is no way to try others without an end; over a
// connection that has shown it, it stays good.
func TestGoodPasswordsAreNoLever(t *testing.T) {
	g := mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right")), zap.NewNop())
	s := New(Options{Gate: g}, house(), zap.NewNop())
	scrape := greet(context.Background(), nil)
	ask := func(ctx context.Context, password string, want int) {
		t.Helper()
		r := httptest.NewRequest("GET", "/metrics", nil).WithContext(ctx)
		r.SetBasicAuth("prom", password)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: got %d, want %d", password, w.Code, want)
		}
	}
	ask(scrape, "right", 200)
	for range 20 {
		ask(greet(context.Background(), nil), "wrong", 401)
	}
	ask(greet(context.Background(), nil), "right", 429)
	ask(scrape, "right", 200)
	ask(scrape, "wrong", 429)
	ask(scrape, "right", 429) // now it is as any other
}

// Who comes again does not make the gate forget the others.
func TestGoodPasswordsAreRemembered(t *testing.T) {
	g := mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right")), zap.NewNop())
	for range 2 {
		for i := range maxKnown {
			g.remember([32]byte{byte(i)})
		}
	}
	for i := range maxKnown {
		if !g.remembers([32]byte{byte(i)}) {
			t.Errorf("%d is forgotten", i)
		}
	}
	if g.remember([32]byte{maxKnown}); len(g.known) > maxKnown {
		t.Errorf("%d are remembered", len(g.known))
	}
}

// A request that is gone before its password was looked at has not failed.
func TestWhoDoesNotWaitHasNotFailed(t *testing.T) {
	g := mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right")), zap.NewNop())
	s := New(Options{Gate: g}, house(), zap.NewNop())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, busy := range []bool{true, false} {
		if busy {
			g.turn <- struct{}{}
		}
		for range 2 * auth.AddressTries {
			r := httptest.NewRequest("GET", "/metrics", nil).WithContext(ctx)
			r.SetBasicAuth("prom", "wrong")
			s.ServeHTTP(httptest.NewRecorder(), r)
		}
		if busy {
			<-g.turn
		}
	}
	if w := visit(g, "GET", "/metrics", "prom", "right"); w.Code != 200 {
		t.Errorf("got %d", w.Code)
	}
}

// Those who wait for their turn together do not all get it once too many have
// failed.
func TestGuessesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right")), zap.NewNop())
		g.turn <- struct{}{}
		var all sync.WaitGroup
		var seen atomic.Int32
		for range 100 {
			all.Go(func() {
				if visit(g, "GET", "/metrics", "prom", "wrong").Code == 401 {
					seen.Add(1)
				}
			})
		}
		synctest.Wait()
		<-g.turn
		all.Wait()
		if got := seen.Load(); got != 20 {
			t.Errorf("%d passwords were looked at, want 20", got)
		}
	})
}

// What is not good is refused at the start, and what it says holds no secret.
func TestGateFilesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"unknown key", "# a\nbasic_auth: {}\n", `web.yml:2: unknown field "basic_auth" (known are basic_auth_users, http_server_config, tls_server_config)`},
		{"unknown key of TLS", "tls_server_config:\n  key_file: a\n  cert: {}\n  hunter: 2\n", `web.yml:3: cert: a text is wanted`},
		{"unknown keys below", "http_server_config: {hunter: 2}\n", `web.yml:1: http_server_config: unknown field "hunter" (known are headers, http2)`},
		{"not a map", "- hunter2\n", "web.yml:1: keys with values are wanted"},
		{"a password alone", "hunter2\n", "web.yml:1: keys with values are wanted"},
		{"a password for users", "basic_auth_users: hunter2\n", "web.yml:1: basic_auth_users: users are wanted, with a bcrypt hash for each"},
		{"a list of users", "basic_auth_users:\n- hunter2\n", "web.yml:2: basic_auth_users: users are wanted, with a bcrypt hash for each"},
		{"a user with keys", "basic_auth_users:\n  prom: {password: hunter2}\n", "web.yml:2: basic_auth_users: users are wanted, with a bcrypt hash for each"},
		{"a user twice", "basic_auth_users:\n  prom: a\n  prom: b\n", `web.yml:2: basic_auth_users: mapping key "prom" already defined at line 2`},
		{"a key twice", "http_server_config: {}\n\nhttp_server_config: {}\n", `web.yml:3: field "http_server_config" stands on line 1 already`},
		{"a key in an alias", "basic_auth_users: &hunter2 [x]\ntls_server_config: {key: *hunter2}\n", "web.yml:1: basic_auth_users: users are wanted"},
		{"TLS that is said yes to", "tls_server_config: yes\n", "web.yml:1: tls_server_config: keys with values are wanted"},
		{"two files", "tls_server_config:\n  cert_file: [a, b]\n", "web.yml:2: cert_file: a text is wanted"},
		{"no such version", "tls_server_config:\n  min_version: TLS9\n", "web.yml:2: min_version: unknown TLS version: TLS9"},
		{"several versions", "tls_server_config:\n  min_version: [TLS12]\n", "web.yml:2: min_version: a name is wanted"},
		{"no such cipher", "tls_server_config:\n  cipher_suites: [A]\n", "web.yml:2: cipher_suites: unknown cipher: A"},
		{"one cipher", "tls_server_config:\n  cipher_suites: A\n", "web.yml:2: cipher_suites: a list of words is wanted"},
		{"no answer", "http_server_config:\n  http2: maybe\n", "web.yml:2: http2: true or false is wanted"},
		{"a header alone", "http_server_config:\n  headers: x\n", "web.yml:2: headers: names are wanted, with a text for each"},
		{"no YAML", "a: b: c\n", "web.yml: mapping values are not allowed in this context"},
		{"a readable password", "basic_auth_users:\n  prom: hunter2-hunter2\n", `web.yml: basic_auth_users: the password of "prom" is no bcrypt hash (htpasswd -nBC 10 NAME makes one)`},
		{"the example's password", "basic_auth_users:\n  prom: $2y$10$...\n", `the password of "prom" is no bcrypt hash`},
		{"a password without an end", "basic_auth_users:\n  prom: $2y$31$" + strings.Repeat("a", 53) + "\n", `the password of "prom" has the cost 31`},
		{"users without one", "# users\nbasic_auth_users:\n", "web.yml:2: basic_auth_users: no user is in it, and nobody would be asked for a password: add one (htpasswd -nBC 10 NAME), or remove the key"},
		{"users in braces", "basic_auth_users: {}\n", "web.yml:1: basic_auth_users: no user is in it"},
		{"users of an alias", "http_server_config: {headers: &none {}}\nbasic_auth_users: *none\n", "web.yml:1: basic_auth_users: no user is in it"},
		{"names without one", "tls_server_config:\n  client_allowed_sans:\n", "web.yml:2: client_allowed_sans: no name is in it, and every name would do: add one, or remove the key"},
		{"a tab", "basic_auth_users:\n\tprom: hunter2\n", "web.yml:2: the line begins with a tab (YAML takes spaces alone)"},
		{"a tab behind spaces", "tls_server_config:\n  cert_file: a\n \tkey_file: b\n", "web.yml:3: the line begins with a tab (YAML takes spaces alone)"},
		{"no key", "tls_server_config:\n  cert_file: /dev/null\n", "not a regular file"},
		{"a certificate alone", "tls_server_config:\n  cert: hunter2\n", "tls_server_config: key_file is missing, the key to the certificate"},
		{"a key alone", "tls_server_config:\n  key: hunter2\n", "tls_server_config: cert_file is missing, the certificate"},
		{"no certificate in it", "tls_server_config: {cert: hunter2, key: hunter2}\n", "web.yml: cert: there is no certificate in it (PEM, BEGIN CERTIFICATE)"},
		{"another value of a header", "http_server_config:\n  headers: {X-Frame-Options: ALLOW}\n", `headers: X-Frame-Options is "ALLOW" (deny or sameorigin)`},
		{"no certificate", "tls_server_config:\n  cert_file: a.pem\n  key_file: b.pem\n", "a.pem"},
		{"a header that may not be set", "http_server_config:\n  headers:\n    Set-Cookie: a\n", "Set-Cookie"},
		{"a limit of its own", "rate_limit:\n  burst: 5\n  interval: 1s\n", "web.yml:1: rate_limit is not known here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := OpenGate(gateFile(t, c.content), auth.AddressTries, zap.NewNop(), prometheus.NewRegistry())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := OpenGate(filepath.Join(t.TempDir(), "web.yml"), auth.AddressTries, zap.NewNop(), prometheus.NewRegistry()); err == nil {
		t.Error("a file that is not there was read")
	}
}

// A pipe is waited for and a device has no end, so neither is read, whichever file
// it stands for, and a reload that meets one ends.
func TestGateNamesFilesOnly(t *testing.T) {
	authority := certificatetest.NewAuthority(t, "pages")
	dir := t.TempDir()
	authority.Issue(t, pkix.Name{}, nil).Write(t, dir)
	put(t, filepath.Join(dir, "ca.crt"), string(authority.Cert))
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "web.yml")
	write := func(cert, key, ca string) {
		put(t, path, fmt.Sprintf("tls_server_config: {cert_file: %s, key_file: %s, client_ca_file: %s, client_auth_type: RequireAndVerifyClientCert}\n", cert, key, ca))
	}
	write("tls.crt", "tls.key", "ca.crt")
	g := mustOpen(t, path, zap.NewNop())
	for _, odd := range []string{pipe, "/dev/zero", dir} {
		for _, files := range [][3]string{{odd, "tls.key", "ca.crt"}, {"tls.crt", odd, "ca.crt"}, {"tls.crt", "tls.key", odd}} {
			write(files[0], files[1], files[2])
			want := odd + ": not a regular file"
			if _, err := g.Reload("watch"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a reload of %v: %v", files, err)
			}
			if _, err := OpenGate(path, auth.AddressTries, zap.NewNop(), prometheus.NewRegistry()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a start with %v: %v", files, err)
			}
			if _, err := Certificate(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the certificate of %v: %v", files, err)
			}
		}
	}
}

// Nothing at all is a file too, at the start: the pages are open, as they are
// without one.
func TestEmptyGateFile(t *testing.T) {
	g := mustOpen(t, gateFile(t, ""), zap.NewNop())
	if w := visit(g, "GET", "/", "", ""); w.Code != 200 {
		t.Errorf("got %d", w.Code)
	}
}

// A password that was changed is not good any more, although it was a moment
// ago; a bad file changes nothing.
func TestGateReloads(t *testing.T) {
	path := gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "old"))
	g := mustOpen(t, path, zap.NewNop())
	expect := func(old, fresh int) {
		t.Helper()
		if got := visit(g, "GET", "/", "prom", "old").Code; got != old {
			t.Errorf("the old password: %d", got)
		}
		if got := visit(g, "GET", "/", "prom", "new").Code; got != fresh {
			t.Errorf("the new password: %d", got)
		}
	}
	expect(200, 401)
	put(t, path, "basic_auth_users:\n  prom: x\n")
	if line, err := g.Reload("signal"); err == nil || g.Fault() == "" {
		t.Errorf("a bad file: %q, fault %q", line, g.Fault())
	}
	expect(200, 401)
	for _, nothing := range []string{"", "\n"} {
		put(t, path, nothing)
		if line, err := g.Reload("signal"); !errors.Is(err, errEmptied) || g.Fault() == "" {
			t.Errorf("an emptied file: %q, %v, fault %q", line, err, g.Fault())
		}
		if got := visit(g, "GET", "/", "", "").Code; got != 401 {
			t.Errorf("an emptied file opened the pages: %d", got)
		}
	}
	expect(200, 401)
	put(t, path, "basic_auth_users:\n"+hashed(t, "prom", "new")+"http_server_config:\n  headers:\n    Strict-Transport-Security: max-age=1\n")
	if line, err := g.Reload("signal"); err != nil || line != "http config reloaded: 1 users" || g.Fault() != "" {
		t.Errorf("got %q, %v, fault %q", line, err, g.Fault())
	}
	expect(401, 200)
	if got := visit(g, "GET", "/", "prom", "new").Header().Get("Strict-Transport-Security"); got != "max-age=1" {
		t.Errorf("the header is %q", got)
	}
	if line, err := g.Reload("signal"); err != nil || line != "http config unchanged" {
		t.Errorf("got %q, %v", line, err)
	}
}

// besideCertificates is where a web.yml goes that names tls.crt, tls.key and ca.crt.
func besideCertificates(t *testing.T) string {
	t.Helper()
	authority := certificatetest.NewAuthority(t, "pages")
	dir := t.TempDir()
	authority.Issue(t, pkix.Name{}, nil).Write(t, dir)
	put(t, filepath.Join(dir, "ca.crt"), string(authority.Cert))
	return filepath.Join(dir, "web.yml")
}

// The beginning of a file is often a good file. It does not open the pages, however
// much of it is there; what is as strict, or stricter, is taken.
func TestHalfAFileOpensNothing(t *testing.T) {
	path := besideCertificates(t)
	const shown = "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n"
	const verified = "  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n"
	const given = "  client_ca_file: ca.crt\n  client_auth_type: VerifyClientCertIfGiven\n"
	const sans = "  client_allowed_sans: [scrape.example]\n"
	const headers = "http_server_config:\n  headers:\n    Strict-Transport-Security: max-age=1\n"
	users := "basic_auth_users:\n" + hashed(t, "prom", "right")
	for name, c := range map[string]struct {
		held, next string
		want       error
	}{
		"no users":                     {users, headers, errNoUsers},
		"no users in braces":           {users, "{}", errNoUsers},
		"TLS, no users":                {shown + users, shown, errNoUsers},
		"users, no TLS":                {shown + users, users, errToggled},
		"TLS for users":                {users, shown, errToggled},
		"nothing":                      {headers, "\n", errEmptied},
		"no client certificates":       {shown + verified + users, shown + users, errAnyone},
		"any client certificates":      {shown + verified, shown + "  client_auth_type: RequireAnyClientCert\n", errAnyone},
		"client certificates if given": {shown + verified, shown + given, errAnyone},
		"users for certificates":       {shown + verified, shown + users, errAnyone},
		"names that are optional":      {shown + given + sans, shown + "  client_auth_type: NoClientCert\n" + sans, errAnyone},
		"names of any certificates":    {shown + given + sans, shown + "  client_auth_type: RequestClientCert\n" + sans, errAnyone},
		"any name":                     {shown + verified + sans, shown + verified, errAnyName},
		"more users":                   {users, users + hashed(t, "other", "right"), nil},
		"other users":                  {users, "basic_auth_users:\n" + hashed(t, "other", "right"), nil},
		"users for anybody":            {headers, headers + users, nil},
		"nobody was kept out":          {headers, "{}", nil},
		"certificates too":             {shown + users, shown + verified + users, nil},
		"names too":                    {shown + verified, shown + verified + sans, nil},
		"no name at all":               {shown + verified + sans, shown + verified + "  client_allowed_sans: []\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			core, lines := observer.New(zap.ErrorLevel)
			put(t, path, c.held)
			g := mustOpen(t, path, zap.New(core))
			held := g.current.Load()
			put(t, path, c.next)
			_, err := g.Reload("watch")
			if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			failed := testutil.ToFloat64(g.reloads.Total.WithLabelValues("watch", "failed"))
			if refused := c.want != nil; refused != (g.current.Load() == held) || refused != (g.Fault() != "") || refused != (failed == 1) || refused != (lines.Len() == 1) {
				t.Errorf("fault %q, %v failures counted, %d lines", g.Fault(), failed, lines.Len())
			}
			if _, err := OpenGate(path, auth.AddressTries, zap.NewNop(), prometheus.NewRegistry()); err != nil {
				t.Errorf("a restart does not take it: %v", err)
			}
		})
	}
}

// TestOpenGateWarns: half of a file opens the pages at a start, which takes it for what
// is meant.
func TestOpenGateWarns(t *testing.T) {
	path := besideCertificates(t)
	const shown = "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n"
	const ca = "  client_ca_file: ca.crt\n"
	const sans = "  client_allowed_sans: [scrape.example]\n"
	const noUsers = "nobody is asked for a password or a certificate: basic_auth_users is not in it"
	const noNeed = "nobody needs the certificate that is asked for: client_auth_type is not RequireAndVerifyClientCert, and basic_auth_users is not in it"
	const madeUp = "a certificate that anybody can make is enough: client_auth_type is not RequireAndVerifyClientCert, and basic_auth_users is not in it"
	for name, c := range map[string]struct{ content, want string }{
		"empty":                   {" \n", "nobody is asked for a password or a certificate: it is empty"},
		"a comment":               {"# to be written\n", noUsers},
		"TLS":                     {shown, noUsers},
		"no certificates":         {shown + "  client_auth_type: NoClientCert\n", noUsers},
		"requested":               {shown + "  client_auth_type: RequestClientCert\n", noNeed},
		"verified if given":       {shown + ca + "  client_auth_type: VerifyClientCertIfGiven\n", noNeed},
		"any":                     {shown + "  client_auth_type: RequireAnyClientCert\n", madeUp},
		"any with the name":       {shown + "  client_auth_type: RequestClientCert\n" + sans, madeUp},
		"a name, if given":        {shown + ca + "  client_auth_type: VerifyClientCertIfGiven\n" + sans, ""},
		"verified":                {shown + ca + "  client_auth_type: RequireAndVerifyClientCert\n", ""},
		"users":                   {"basic_auth_users:\n" + hashed(t, "prom", "right"), ""},
		"users, TLS for requests": {shown + "  client_auth_type: RequestClientCert\nbasic_auth_users:\n" + hashed(t, "prom", "right"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			core, lines := observer.New(zap.WarnLevel)
			put(t, path, c.content)
			mustOpen(t, path, zap.New(core))
			var got []string
			for _, line := range lines.All() {
				got = append(got, fmt.Sprint(line.ContextMap()["file"], ": ", line.ContextMap()["reason"]))
			}
			if want := path + ": " + c.want; c.want == "" && got != nil || c.want != "" && (len(got) != 1 || got[0] != want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A page in a browser is told no, whatever it may know, and under whatever name it
// comes: a name of another site may lead here.
func TestPagesAskForNothing(t *testing.T) {
	s := New(Options{Lifecycle: true}, house(), zap.NewNop())
	for sent, want := range map[string]int{
		"": 200, "Sec-Fetch-Site: none": 200, "Origin: http://example.com": 403, "Origin: http://evil.example": 403, "Origin: null": 403,
		"Sec-Fetch-Site: same-origin": 403, "Sec-Fetch-Site: same-site": 403, "Sec-Fetch-Site: cross-site": 403,
	} {
		r := httptest.NewRequest("POST", "http://example.com/-/reload", nil)
		if name, value, ok := strings.Cut(sent, ": "); ok {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("with %q: got %d, want %d", sent, w.Code, want)
		}
	}
}

func TestStrictHeaders(t *testing.T) {
	for _, target := range []string{"/", "/metrics", "/v1/status", "/nowhere", "/-/reload"} {
		r := ask(t, Options{}, house(), "GET", target)
		for name, want := range strict {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s of %s is %q", name, target, got)
			}
		}
		if r.Header.Get("Server") != "" || r.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s says too much: %v", target, r.Header)
		}
	}
}

// OPTIONS *, which names no page, is answered as if it named one that is not there.
func TestOptionsOfEverything(t *testing.T) {
	for _, c := range []struct {
		name string
		gate *Gate
		want int
	}{
		{"open", nil, 404},
		{"behind passwords", mustOpen(t, gateFile(t, "basic_auth_users:\n"+hashed(t, "u", "secret")), zap.NewNop()), 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := &http.Request{Method: "OPTIONS", Header: http.Header{}, URL: &url.URL{Scheme: "http", Host: serving(t, c.gate), Opaque: "*"}}
			r, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != c.want {
				t.Errorf("got %d, want %d", r.StatusCode, c.want)
			}
			for name, want := range strict {
				if got := r.Header.Get(name); got != want {
					t.Errorf("%s is %q", name, got)
				}
			}
		})
	}
}

// serving runs the pages on loopback behind a gate.
func serving(t *testing.T, g *Gate) string {
	t.Helper()
	return running(t, New(Options{Listen: "127.0.0.1:0", Gate: g}, house(), zap.NewNop()))
}

func running(t *testing.T, s *Server) string {
	t.Helper()
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

// serial asks for a page over TLS on a connection of its own and gives the number
// of the certificate that was shown.
func serial(t *testing.T, address string, roots *x509.CertPool) (string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, DisableKeepAlives: true}}
	resp, err := client.Get("https://" + address + "/livez")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.TLS.PeerCertificates[0].SerialNumber.String(), nil
}

// Certificates change while the pages are served; a pair that does not fit
// together stops nobody.
func TestPagesOverTLS(t *testing.T) {
	authority := certificatetest.NewAuthority(t, "pages")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	dir := t.TempDir()
	first, second := authority.Issue(t, pkix.Name{}, nil), authority.Issue(t, pkix.Name{}, nil, certificatetest.Valid(time.Now().Add(-time.Minute), time.Now().Add(30*time.Hour)))
	first.Write(t, dir)
	path := filepath.Join(dir, "web.yml")
	put(t, path, "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n")
	reg := prometheus.NewRegistry()
	ends := certificate.NotAfter(reg) // as listeners with TLS have made it
	g, err := OpenGate(path, auth.AddressTries, zap.NewNop(), reg)
	if err != nil {
		t.Fatal(err)
	}
	address := serving(t, g)
	expect := func(want certificatetest.Pair) {
		t.Helper()
		if got, err := serial(t, address, roots); err != nil || got != want.Serial().String() {
			t.Errorf("got %s, %v, want %v", got, err, want.Serial())
		}
		shown, err := x509.ParseCertificate(want.TLS().Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		end := shown.NotAfter
		if got := g.Status().NotAfter; got == nil || !got.Equal(end) {
			t.Errorf("the status says until %v, want %v", got, end)
		}
		if got := testutil.ToFloat64(ends.WithLabelValues("http.config.file")); got != float64(end.Unix()) {
			t.Errorf("the gauge says until %v, want %v", got, end)
		}
	}
	expect(first)
	put(t, filepath.Join(dir, "tls.crt"), string(second.Cert))
	if _, err := g.Reload("signal"); err == nil {
		t.Error("a certificate without its key was taken")
	}
	expect(first)
	second.Write(t, dir)
	if line, err := g.Reload("signal"); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	expect(second)
	for content, want := range map[string]error{"": errEmptied, "{}": errToggled} {
		put(t, path, content)
		if _, err := g.Reload("signal"); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", content, err, want)
		}
	}
	expect(second)
	resp, err := http.Get("http://" + address + "/livez")
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("in the clear: %d", resp.StatusCode)
		}
	}
}

// A client that sends and sends, and nothing is made of it, is cut off; one that
// asks again and again is not.
func TestPagesTakeLittle(t *testing.T) {
	authority := certificatetest.NewAuthority(t, "pages")
	dir := t.TempDir()
	authority.Issue(t, pkix.Name{}, nil).Write(t, dir)
	path := filepath.Join(dir, "web.yml")
	put(t, path, "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n")
	address := serving(t, mustOpen(t, path, zap.NewNop()))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for range 20 { // 8 KiB of headers each, over one connection
		r, err := http.NewRequest("GET", "https://"+address+"/livez", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Long", strings.Repeat("x", 8<<10))
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}

	door := New(Options{Listen: "127.0.0.1:0", Gate: mustOpen(t, path, zap.NewNop())}, house(), zap.NewNop())
	if err := door.Listen(); err != nil {
		t.Fatal(err)
	}
	defer door.listener.Close()
	visitor, err := net.Dial("tcp", door.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer visitor.Close()
	accepted, err := door.doorway().Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if _, ok := accepted.(*tls.Conn).NetConn().(*modestConn); !ok {
		t.Error("below TLS as much is taken as comes")
	}
	door.listener.moved(accepted, http.StateActive)
	for g := range door.listener.guests {
		if !g.busy {
			t.Error("below TLS nobody knows who has a request")
		}
	}
	near, far := net.Pipe()
	c := &modestConn{Conn: near, turns: make(chan struct{}, 1)}
	go far.Write(make([]byte, 2*modestBytes))
	n, err := io.Copy(io.Discard, c)
	far.Close()
	if !errors.Is(err, errImmodest) || n < modestBytes || n >= 2*modestBytes {
		t.Errorf("%d bytes were taken, and then %v", n, err)
	}
}

// What is wrong with a pair, or with authorities, is told in the words that listeners
// have for it, with the file.
func TestGateNamesWhatIsWrong(t *testing.T) {
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}})
	const required = "RequireAndVerifyClientCert"
	for name, c := range map[string]struct {
		file, content, ca, auth string
		want                    string
	}{
		"good":                  {ca: "ca.crt", auth: required, want: "<nil>"},
		"no certificate":        {file: "tls.crt", want: "web.yml: cert_file: DIR/tls.crt: there is no certificate in it (PEM, BEGIN CERTIFICATE)"},
		"no key":                {file: "tls.key", want: "web.yml: key_file: DIR/tls.key: there is no private key in it (PEM, BEGIN PRIVATE KEY)"},
		"an encrypted key":      {file: "tls.key", content: string(encrypted), want: "web.yml: key_file: DIR/tls.key: the key is encrypted (kaasd asks for no passphrase: openssl pkey takes it off, the file's mode protects it)"},
		"another key":           {file: "tls.key", content: string(certificatetest.NewAuthority(t, "x").Issue(t, pkix.Name{}, nil).Key), want: "web.yml: key_file: DIR/tls.key: the key is not that of the certificate in DIR/tls.crt"},
		"a certificate cut off": {file: "tls.crt", content: "-----BEGIN CERTIFICATE-----\nMIIB", want: "web.yml: cert_file: DIR/tls.crt: block 1 has no end (-----END): the file is cut off"},
		"not there":             {ca: "other.crt", auth: required, want: "web.yml: client_ca_file: DIR/other.crt: no such file or directory"},
		"no authority":          {file: "ca.crt", ca: "ca.crt", auth: required, want: "web.yml: client_ca_file: DIR/ca.crt: there is no certificate in it (PEM, BEGIN CERTIFICATE)"},
		"any authority": {auth: required,
			want: "web.yml: client_auth_type: RequireAndVerifyClientCert needs client_ca_file, the authorities of the clients: without it those that this machine trusts would count, that is nearly anybody's"},
		"any authority, if given": {auth: "VerifyClientCertIfGiven",
			want: "web.yml: client_auth_type: VerifyClientCertIfGiven needs client_ca_file, the authorities of the clients: without it those that this machine trusts would count, that is nearly anybody's"},
	} {
		t.Run(name, func(t *testing.T) {
			path := besideCertificates(t)
			dir := filepath.Dir(path)
			if c.file != "" {
				put(t, filepath.Join(dir, c.file), c.content)
			}
			put(t, path, fmt.Sprintf("tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_ca_file: %q, client_auth_type: %q}\n", c.ca, c.auth))
			_, err := OpenGate(path, auth.AddressTries, zap.NewNop(), prometheus.NewRegistry())
			got := strings.ReplaceAll(strings.TrimPrefix(fmt.Sprint(err), "http.config.file: "+dir+"/"), dir, "DIR")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Marks of byte order, with which files of Windows begin, do not count.
func TestGateReadsFilesOfWindows(t *testing.T) {
	path := besideCertificates(t)
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		file := filepath.Join(filepath.Dir(path), name)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		put(t, file, "\uFEFF"+strings.ReplaceAll(string(content), "\n", "\r\n"))
	}
	put(t, path, "\uFEFFtls_server_config: {cert_file: tls.crt, key_file: tls.key, client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert}\r\n")
	if g := mustOpen(t, path, zap.NewNop()); !g.TLS() {
		t.Error("served in the clear")
	}
}

// A pair that clients refuse does not take the place of one that they do not, as with
// listeners; a user is taken out nevertheless. At the start it is shown, with an error
// in the log.
func TestPairsOutOfTime(t *testing.T) {
	authority := certificatetest.NewAuthority(t, "pages")
	issue := func(from, until time.Duration) certificatetest.Pair {
		return authority.Issue(t, pkix.Name{}, nil, certificatetest.Valid(time.Now().Add(from), time.Now().Add(until)))
	}
	for want, next := range map[string]certificatetest.Pair{
		"a certificate in it has expired at":  issue(-2*time.Hour, -time.Hour),
		"the certificate is not valid before": issue(time.Hour, 2*time.Hour),
	} {
		t.Run(want, func(t *testing.T) {
			path := besideCertificates(t)
			dir := filepath.Dir(path)
			const shown = "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n"
			put(t, path, shown)
			g := mustOpen(t, path, zap.NewNop())
			held := g.current.Load()
			next.Write(t, dir)
			if _, err := g.Reload("watch"); err == nil || !strings.Contains(err.Error(), "cert_file: "+filepath.Join(dir, "tls.crt")+": "+want) || g.Fault() == "" {
				t.Errorf("got %v, fault %q", err, g.Fault())
			}
			if good := testutil.ToFloat64(g.reloads.Successful); g.current.Load() != held || good != 0 {
				t.Errorf("the gauge says %v", good)
			}

			core, lines := observer.New(zap.ErrorLevel)
			g = mustOpen(t, path, zap.New(core))
			if told := lines.FilterMessage("the pages show a certificate that clients refuse").All(); len(told) != 1 || !strings.Contains(fmt.Sprint(told[0].ContextMap()), want) {
				t.Errorf("the start told %v", lines.All())
			}
			if line, err := g.Reload("signal"); err != nil || line != "http config unchanged" {
				t.Errorf("the same: %q, %v", line, err)
			}
			put(t, path, shown+"basic_auth_users:\n"+hashed(t, "prom", "right"))
			if _, err := g.Reload("signal"); err != nil {
				t.Errorf("the pair in force keeps the rest of the file waiting: %v", err)
			}
		})
	}
}

// Authorities of clients that have all ended, or not begun, do not take the place of those
// that count; they are told of at a start, and where nobody is held against them they
// are nobody's business.
func TestAuthoritiesOutOfTime(t *testing.T) {
	make := func(name string, from, until time.Duration) string {
		return string(certificatetest.NewAuthority(t, name, certificatetest.Valid(time.Now().Add(from), time.Now().Add(until))).Cert)
	}
	ended, early, good := make("ended", -2*time.Hour, -time.Hour), make("early", time.Hour, 2*time.Hour), make("good", -time.Hour, 2*time.Hour)
	const asked = "tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_ca_file: ca.crt, client_auth_type: %s}\n"
	for _, test := range []struct {
		name, trusted, auth string
		fault               string // of a reload
		told                string // at a start
	}{
		{"ended", ended, "RequireAndVerifyClientCert", "all authorities in it have expired, the last at ", "clients' certificates are refused, no authority of theirs counts"},
		{"not begun", early, "VerifyClientCertIfGiven", "no authority in it is valid before ", "clients' certificates are refused, no authority of theirs counts"},
		{"one of two", ended + good, "RequireAndVerifyClientCert", "", "authorities have expired, clients of them are refused"},
		{"nobody verifies", ended, "RequireAnyClientCert", "", ""},
		{"good", good, "RequireAndVerifyClientCert", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := besideCertificates(t)
			ca := filepath.Join(filepath.Dir(path), "ca.crt")
			put(t, path, fmt.Sprintf(asked, test.auth))
			g := mustOpen(t, path, zap.NewNop())
			held := g.current.Load()
			put(t, ca, test.trusted)
			_, err := g.Reload("watch")
			if got := fmt.Sprint(err); (err != nil) != (test.fault != "") || !strings.Contains(got, test.fault) || err != nil && !strings.Contains(got, "client_ca_file: "+ca) {
				t.Errorf("got %v, want %q", err, test.fault)
			}
			if kept := g.current.Load() == held; kept != (test.fault != "") {
				t.Errorf("the last good one is kept: %t", kept)
			}

			core, lines := observer.New(zap.WarnLevel)
			mustOpen(t, path, zap.New(core))
			var told []string
			for _, e := range lines.FilterMessageSnippet("authorit").All() {
				told = append(told, e.Message)
			}
			if got := strings.Join(told, "; "); got != test.told {
				t.Errorf("the start told %q, want %q", got, test.told)
			}
			put(t, ca, good)
			g.Reload("signal")
			shown := g.current.Load()
			first := shown.pair.End
			if shown.verifies() {
				first = shown.authorities.End(time.Now())
			}
			if got := testutil.ToFloat64(g.notAfter.WithLabelValues("http.config.file")); got != float64(first.Unix()) || !g.Status().NotAfter.Equal(first) || shown.verifies() != first.Before(shown.pair.End) {
				t.Errorf("the gauge says %v, the status %v, want %v", got, g.Status().NotAfter, first)
			}
		})
	}
}

// TestAuthoritiesThatNobodyAsked: those that were named and not held against anybody are
// not in force, and are judged when they would be.
func TestAuthoritiesThatNobodyAsked(t *testing.T) {
	path := besideCertificates(t)
	const asked = "tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_ca_file: ca.crt, client_auth_type: %s}\n"
	ended := certificatetest.NewAuthority(t, "ended", certificatetest.Valid(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)))
	put(t, filepath.Join(filepath.Dir(path), "ca.crt"), string(ended.Cert))
	put(t, path, fmt.Sprintf(asked, "RequestClientCert"))
	g := mustOpen(t, path, zap.NewNop())
	put(t, path, fmt.Sprintf(asked, "VerifyClientCertIfGiven"))
	if _, err := g.Reload("watch"); err == nil || !strings.Contains(err.Error(), "all authorities in it have expired") {
		t.Errorf("got %v", err)
	}
}

// A pair that has not begun is taken once it has: its files do not change then.
func TestPagesWaitForAPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := certificatetest.NewAuthority(t, "pages")
		dir := t.TempDir()
		authority.Issue(t, pkix.Name{}, nil).Write(t, dir)
		path := filepath.Join(dir, "web.yml")
		put(t, path, "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n")
		g := mustOpen(t, path, zap.NewNop())
		begins := time.Now().Add(time.Hour).Truncate(time.Second)
		authority.Issue(t, pkix.Name{}, nil, certificatetest.Valid(begins, begins.Add(time.Hour))).Write(t, dir)
		if _, err := g.Reload("signal"); err == nil {
			t.Fatal("taken before it has begun")
		}
		held := g.current.Load()
		ctx, stop := context.WithCancel(context.Background())
		done, changed := make(chan struct{}), make(chan string)
		go func() { g.await(ctx, changed); close(done) }()
		if got := <-changed; got != "poll" || time.Now().Before(begins) || time.Since(begins) > g.watch.Look+time.Second {
			t.Errorf("%q, %v after it has begun", got, time.Since(begins))
		}
		if _, err := g.Reload("poll"); err != nil || g.current.Load() == held {
			t.Errorf("not taken after it has begun: %v", err)
		}
		stop()
		<-done
	})
}

// Only clients with a certificate come in where one is required.
func TestPagesForCertificates(t *testing.T) {
	authority := certificatetest.NewAuthority(t, "pages")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	dir := t.TempDir()
	authority.Issue(t, pkix.Name{}, nil).Write(t, dir)
	put(t, filepath.Join(dir, "ca.crt"), string(authority.Cert))
	path := filepath.Join(dir, "web.yml")
	put(t, path, "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n")
	g := mustOpen(t, path, zap.NewNop())
	if got, err := serial(t, serving(t, g), roots); err == nil {
		t.Errorf("got in, and was shown %s", got)
	}
}

// Who is taken out while the password waits to be looked at does not get in.
func TestTakenOutWhileAPasswordWaits(t *testing.T) {
	for name, next := range map[string]string{
		"without the user":      hashed(t, "other", "right"),
		"with another password": hashed(t, "prom", "new"),
	} {
		t.Run(name, func(t *testing.T) {
			path := gateFile(t, "basic_auth_users:\n"+hashed(t, "prom", "right"))
			g := mustOpen(t, path, zap.NewNop())
			synctest.Test(t, func(t *testing.T) {
				g.turn = make(chan struct{}, 1)
				g.turn <- struct{}{} // another password is being looked at
				answer := make(chan int)
				go func() { answer <- visit(g, "GET", "/metrics", "prom", "right").Code }()
				synctest.Wait()
				put(t, path, "basic_auth_users:\n"+next)
				if _, err := g.Reload("watch"); err != nil {
					t.Fatal(err)
				}
				<-g.turn
				if code := <-answer; code != 401 {
					t.Errorf("got %d, want 401", code)
				}
			})
		})
	}
}

// A client whose name is taken out does not come back by resuming its session, nor one
// whose authority is; without a certificate nobody has a name.
func TestResumedSessionsAreJudgedAgain(t *testing.T) {
	authority, other := certificatetest.NewAuthority(t, "pages"), certificatetest.NewAuthority(t, "other")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	dir := t.TempDir()
	authority.Issue(t, pkix.Name{}, nil).Write(t, dir)
	put(t, filepath.Join(dir, "ca.crt"), string(authority.Cert))
	put(t, filepath.Join(dir, "other.crt"), string(other.Cert))
	client := authority.Issue(t, pkix.Name{}, []string{"scrape.example"})
	lock := func(ca, auth, more string) string {
		return fmt.Sprintf("tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_ca_file: %s, client_auth_type: %s%s}\n", ca, auth, more)
	}
	const required, sans = "RequireAndVerifyClientCert", ", client_allowed_sans: [scrape.example]"
	const optional = "VerifyClientCertIfGiven"
	path := filepath.Join(dir, "web.yml")
	for name, next := range map[string]string{
		"another name":      lock("ca.crt", required, ", client_allowed_sans: [other.example]"),
		"another authority": lock("other.crt", required, sans),
	} {
		t.Run(name, func(t *testing.T) {
			put(t, path, lock("ca.crt", required, sans))
			g := mustOpen(t, path, zap.NewNop())
			address := serving(t, g)
			config := &tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{client.TLS()}, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
			for _, resumed := range []bool{false, true} {
				if met, err := look(address, config); err != nil || met.DidResume != resumed {
					t.Fatalf("resumed %v, %v", met.DidResume, err)
				}
			}
			put(t, path, next)
			if _, err := g.Reload("watch"); err != nil {
				t.Fatal(err)
			}
			if _, err := look(address, config); err == nil {
				t.Error("it is still let in")
			}
		})
	}
	put(t, path, lock("ca.crt", optional, sans))
	address := serving(t, mustOpen(t, path, zap.NewNop()))
	if _, err := look(address, &tls.Config{RootCAs: roots, ServerName: "localhost"}); err == nil {
		t.Error("who has no certificate is let in")
	}
	if _, err := look(address, &tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{client.TLS()}}); err != nil {
		t.Errorf("who has the name: %v", err)
	}
}

// look asks for a page on a connection of its own.
func look(address string, config *tls.Config) (met tls.ConnectionState, err error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	resp, err := client.Get("https://" + address + "/livez")
	if err != nil {
		return met, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body) // tickets come behind the handshake
	return *resp.TLS, err
}
