package broker_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"kaasd/internal/admin"
	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/kafka"
)

// document reads a page of JSON.
func document[T any](t *testing.T, b *brokertest.Broker, path string) T {
	t.Helper()
	status, body := page(t, b, path)
	if status != http.StatusOK || !strings.HasSuffix(body, "}\n") {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	var doc T
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return doc
}

func TestEveryPage(t *testing.T) {
	b := brokertest.Start(t)
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/", 200, "/v1/quotas"},
		{"GET", "/livez", 200, ""},
		{"GET", "/healthz", 200, ""},
		{"GET", "/readyz", 200, ""},
		{"GET", "/readyz?verbose", 200, "storage"},
		{"GET", "/metrics", 200, "kaasd_ready 1"},
		{"GET", "/v1/status", 200, `"quota_model":"user"`},
		{"GET", "/v1/quotas", 200, `"entities":[]`},
		{"GET", "/v1/quotas?limit=0", 400, `limit="0"`},
		{"GET", "/v1/quotas?throttled=perhaps", 400, `throttled="perhaps"`},
		{"GET", "/v1/quotas?usr=a", 400, "usr"},
		{"GET", "/v1/quotas/resolve?user=alice&client_id=c", 200, `"user":"alice"`},
		{"GET", "/nowhere", 404, "/v1/status"},
		{"GET", "/debug/pprof/", 404, ""},
		{"GET", "/-/reload", 405, "POST"},
		{"POST", "/-/reload", 403, "http.enable.lifecycle"},
		{"POST", "/v1/quotas", 405, "GET"},
		{"DELETE", "/metrics", 405, "GET"},
		{"HEAD", "/readyz", 200, ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			status, header, body := ask(t, b, c.method, c.path)
			if status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("got %d %q, want %d and %q in it", status, body, c.status, c.says)
			}
			if got := header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control is %q", got)
			}
			if c.method == "HEAD" && body != "" {
				t.Errorf("HEAD has a body: %q", body)
			}
		})
	}
}

func ask(t *testing.T, b *brokertest.Broker, method, path string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+b.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func TestStatusPage(t *testing.T) {
	b, path := startWithFile(t, fileQuota(`"producerMaxByteRatePerBroker":1234`))
	p := dial(t, b.Plain)
	p.mustProduce("t", batch(1000))
	s := document[admin.Status](t, b, "/v1/status")
	if s.ClusterID != b.ClusterID() || s.NodeID != 1 || s.QuotaModel != "user" || s.Data.Dir != broker.InMemory || s.Data.SizeBytes < 1000 {
		t.Errorf("got %+v", s)
	}
	if s.Counts != (admin.Counts{Connections: 2, Topics: 1, Partitions: 1, Quotas: 1}) {
		t.Errorf("counts %+v", s.Counts)
	}
	if len(s.Listeners) != 2 || s.Listeners[0].Advertised != b.Plain || s.Listeners[1].Address != b.SASL || s.Listeners[1].Protocol != "SASL_PLAINTEXT" {
		t.Errorf("listeners %+v", s.Listeners)
	}
	if c := s.Credentials; c.File != path || c.Users != 2 || len(c.SHA256) != 64 || c.LastGood == nil || c.Error != "" {
		t.Errorf("credentials %+v", c)
	}
	for _, at := range []time.Time{s.Started, *s.Credentials.LastGood, *s.Credentials.LastTry} {
		if _, offset := at.Zone(); offset != 0 || time.Since(at) < 0 {
			t.Errorf("started %v, read credentials %v", s.Started, *s.Credentials.LastGood)
		}
	}
}

func TestQuotaPages(t *testing.T) {
	b, _ := startWithFile(t, fileQuota(`"producerMaxByteRatePerBroker":100`))
	changes := dial(t, b.Plain)
	changes.alter("carol", set(kafka.ConsumerByteRate, 7), set(kafka.RequestPercentage, 50))
	throttle := dialAs(t, b.SASL, "alice", "a-secret").overdraw("t")
	awaitMuted(t, b, "produce", 1)

	all := document[admin.Quotas](t, b, "/v1/quotas")
	if len(all.Entities) != 2 || all.WindowSeconds <= 0 || all.AsOf.IsZero() {
		t.Fatalf("got %+v", all)
	}
	for path, want := range map[string]string{"/v1/quotas?user=alice": "alice", "/v1/quotas?throttled=true": "alice", "/v1/quotas?user=carol&limit=1": "carol"} {
		if got := document[admin.Quotas](t, b, path).Entities; len(got) != 1 || deref(got[0].Entity.User) != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := document[admin.Quotas](t, b, "/v1/quotas?user=nobody").Entities; len(got) != 0 {
		t.Errorf("nobody has %+v", got)
	}
	alice := document[admin.Quotas](t, b, "/v1/quotas?user=alice").Entities[0]
	produce := alice.Quotas["produce"]
	if alice.Level != "user" || alice.MutedConnections != 1 || produce.Source != "base" || produce.ThrottledRequests != 1 || produce.LastThrottleMs != throttle.Milliseconds() {
		t.Errorf("alice: %+v", alice)
	}
	if produce.Limit == nil || *produce.Limit != 100 || produce.Debt < 90_000 || produce.Unit != "bytes/s" || produce.LastThrottledAt == nil {
		t.Errorf("alice produces: %+v", produce)
	}

	changes.alter("alice", set(kafka.ProducerByteRate, 200))
	for _, q := range document[admin.Resolution](t, b, "/v1/quotas/resolve?user=alice&client_id=c").Quotas {
		switch {
		case q.Quota == "produce" && (q.Limit == nil || *q.Limit != 200 || q.Source != "override" || q.Level != "user" || len(q.Hidden) != 1):
			t.Errorf("produce is resolved as %+v", q)
		case q.Quota != "produce" && q.Limit != nil:
			t.Errorf("%s is resolved as %+v", q.Quota, q)
		}
	}
}

// A reload that is asked for over HTTP is waited for and told.
func TestReloadPage(t *testing.T) {
	b, path := startWithFile(t, credentials(t, alice), func(c *broker.Config) { c.HTTP.Lifecycle, c.HTTP.Pprof = true, true })
	rewrite(t, path, credentials(t, alice, bob))
	if status, _, body := ask(t, b, "POST", "/-/reload"); status != http.StatusOK || body == "" {
		t.Errorf("got %d %q", status, body)
	}
	dialAs(t, b.SASL, "bob", "b-secret")
	rewrite(t, path, "{}")
	status, _, body := ask(t, b, "POST", "/-/reload")
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, "users") {
		t.Errorf("got %d %q", status, body)
	}
	if got := document[admin.Status](t, b, "/v1/status").Credentials.Error; !strings.Contains(got, "users") {
		t.Errorf("the status tells of %q", got)
	}
	if status, body := page(t, b, "/readyz?verbose"); status != http.StatusOK || !strings.Contains(body, "credentials") {
		t.Errorf("/readyz?verbose: %d %q", status, body)
	}
	dialAs(t, b.SASL, "bob", "b-secret")
	if status, _ := page(t, b, "/debug/pprof/"); status != http.StatusOK {
		t.Errorf("profiles: %d", status)
	}
}
