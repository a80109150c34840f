package broker_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"kaasd/internal/admin"
	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/credstore"
)

// webFile lets prom in with a password.
func webFile(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return "basic_auth_users:\n  prom: '" + string(hash) + "'\n"
}

// The pages follow their file without being asked, and a bad one takes nothing
// away.
func TestPagesFollowTheirFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yml")
	rewrite(t, path, webFile(t, "first"))
	b := brokertest.Start(t, func(c *broker.Config) { c.HTTP.File = path })
	visit := func(target, password string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, "http://"+b.HTTP+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if password != "" {
			r.SetBasicAuth("prom", password)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for _, c := range []struct {
		target, password string
		want             int
	}{{"/metrics", "", 401}, {"/metrics", "second", 401}, {"/metrics", "first", 200}, {"/readyz", "", 200}, {"/v1/status", "", 401}} {
		if got := visit(c.target, c.password); got != c.want {
			t.Errorf("%s with %q: %d, want %d", c.target, c.password, got, c.want)
		}
	}
	rewrite(t, path, webFile(t, "second"))
	eventually(t, "the second password is good", func() bool { return visit("/metrics", "second") == 200 })
	if got := visit("/metrics", "first"); got != 401 {
		t.Errorf("the first password: %d", got)
	}
	rewrite(t, path, "basic_auth_users: [")
	if line, err := b.ReloadFiles(credstore.TriggerSignal); err == nil || !strings.Contains(line, "http config not reloaded") {
		t.Errorf("got %q, %v", line, err)
	}
	if got := visit("/metrics", "second"); got != 200 {
		t.Errorf("with a bad file: %d", got)
	}
}

// Whether the file can be used is for operators to see.
func TestPagesTellOfTheirFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yml")
	rewrite(t, path, "")
	b := brokertest.Start(t, func(c *broker.Config) { c.HTTP.File = path })
	for _, c := range []struct {
		content, fault string
		gauge          float64
	}{{"", "", 1}, {"basic_auth: {}\n", "basic_auth", 0}, {"http_server_config: {}\n", "", 1}} {
		rewrite(t, path, c.content)
		_, _ = b.ReloadFiles(credstore.TriggerSignal)
		if got := document[admin.Status](t, b, "/v1/status").HTTPConfig; got == nil || (got.Error == "") != (c.fault == "") || !strings.Contains(got.Error, c.fault) ||
			got.NotAfter != nil {
			t.Errorf("with %q the status says %+v", c.content, got)
		}
		if got := scrape(t, b).sum("kaasd_http_config_last_reload_successful"); got != c.gauge {
			t.Errorf("with %q the gauge says %v", c.content, got)
		}
	}
}
