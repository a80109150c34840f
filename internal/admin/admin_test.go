package admin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// house is what a broker would answer, to be bent by a test.
func house() Deps {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	limit := 1048576.0
	client := "loadgen"
	return Deps{
		Alive:  func() error { return nil },
		Checks: func() []Check { return []Check{{Name: "listeners", OK: true}, {Name: "recovery", OK: true}} },
		Status: func() Status {
			return Status{Version: "0.3.0", Started: at, ClusterID: "c", NodeID: 1, QuotaModel: "user",
				Listeners:   []Listener{{"PLAINTEXT", "PLAINTEXT", "127.0.0.1:9092", "localhost:9092"}},
				Data:        Data{"./kaasd-data", 42},
				Credentials: Credentials{File: "c.json", Users: 2, LastGood: &at},
				Counts:      Counts{Connections: 3, Topics: 1, Partitions: 8, Quotas: 2}}
		},
		Quotas: func(quota.StatusFilter, time.Time) Quotas {
			return Quotas{AsOf: at, WindowSeconds: 11, Entities: []quota.EntityStatus{{
				Entity: quota.EntityName{ClientID: &client}, Level: "client-id", MutedConnections: 1,
				Quotas: map[string]quota.QuotaStatus{"produce": {Limit: &limit, Source: "override", Unit: "bytes/s", Enforced: true, Rate: 1047552, Utilisation: 0.999, MutedConnections: 1, Requests: 20,
					ThrottledRequests: 14, ThrottleSeconds: 13.6, LastThrottleMs: 940, LastThrottledAt: &at}},
			}}}
		},
		Resolve: func(user, clientID string) []quota.Resolution {
			return []quota.Resolution{{Quota: "produce", Limit: &limit, Unit: "bytes/s", Level: "user", SharedBy: "all clients of " + user, Enforced: true, Hidden: []quota.Hidden{}}}
		},
		ResolveAddress: func(ip string) ([]quota.Resolution, error) {
			if ip == "nowhere" {
				return nil, kafka.Errorf(kafka.InvalidRequest, "%q is not an address", ip)
			}
			return []quota.Resolution{{Quota: "connection", Unit: "connections/s", Level: "none", Enforced: true, Hidden: []quota.Hidden{}}}, nil
		},
		Reload:  func(context.Context) (string, error) { return "credentials reloaded: 2 users", nil },
		Metrics: prometheus.NewRegistry(),
	}
}

func ask(t *testing.T, o Options, d Deps, method, target string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	New(o, d, zap.NewNop()).ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPages(t *testing.T) {
	bent := func(bend func(*Deps)) Deps { d := house(); bend(&d); return d }
	unready := bent(func(d *Deps) {
		d.Checks = func() []Check {
			return []Check{{Name: "listeners", OK: true}, {Name: "recovery", Detail: "41 of 60 partitions"}, {Name: "credentials", Aside: true, Detail: "line 3"}}
		}
	})
	full := bent(func(d *Deps) {
		d.Checks = func() []Check {
			return []Check{{Name: "storage", Aside: true, Word: "full", Detail: "writes are refused"}}
		}
	})
	stale := bent(func(d *Deps) {
		d.Checks = func() []Check {
			return []Check{{Name: "listeners", OK: true}, {Name: "credentials", Aside: true, Detail: "line 3"}}
		}
	})
	broken := bent(func(d *Deps) { d.Alive = func() error { return errors.New("storage refuses to write") } })
	bad := bent(func(d *Deps) {
		d.Reload = func(context.Context) (string, error) { return "", errors.New("line 14: users[1]") }
	})
	open := Options{Lifecycle: true, Pprof: true}
	tests := []struct {
		name, method, target string
		o                    Options
		deps                 Deps
		code                 int
		want                 string // a part of the body
	}{
		{"index", "GET", "/", Options{}, house(), 200, "/v1/quotas/resolve"},
		{"index with the reload", "GET", "/", open, house(), 200, "/-/reload"},
		{"live", "GET", "/livez", Options{}, house(), 200, "ok\n"},
		{"live by its other name", "GET", "/healthz", Options{}, house(), 200, "ok\n"},
		{"not live", "GET", "/livez", Options{}, broken, 500, "a restart is needed: storage refuses to write\n"},
		{"ready", "GET", "/readyz", Options{}, house(), 200, "ready\n"},
		{"not ready", "GET", "/readyz", Options{}, unready, 503, "not ready: recovery 41 of 60 partitions\n"},
		{"verbose", "GET", "/readyz?verbose", Options{}, unready, 503, "listeners    ok\nrecovery     no    41 of 60 partitions\ncredentials  stale line 3\n"},
		{"full disk is ready", "GET", "/readyz?verbose", Options{}, full, 200, "ready\nstorage      full  writes are refused\n"},
		{"stale credentials are ready", "GET", "/readyz", Options{}, stale, 200, "ready\n"},
		{"metrics", "GET", "/metrics", Options{}, house(), 200, ""},
		{"post to a page", "POST", "/livez", Options{}, house(), 405, "POST is not for /livez (GET, HEAD)\n"},
		{"get of the reload", "GET", "/-/reload", open, house(), 405, "(POST)"},
		{"reload off", "POST", "/-/reload", Options{}, house(), 403, "http.enable.lifecycle"},
		{"reload", "POST", "/-/reload", open, house(), 200, "credentials reloaded: 2 users\n"},
		{"reload of a bad file", "POST", "/-/reload", open, bad, 422, "line 14: users[1]\n"},
		{"pprof off", "GET", "/debug/pprof/", Options{}, house(), 404, "no page /debug/pprof/; there are:"},
		{"pprof", "GET", "/debug/pprof/", open, house(), 200, "goroutine"},
		{"a profile", "GET", "/debug/pprof/goroutine?debug=1", open, house(), 200, "goroutine profile"},
		{"arguments stay here", "GET", "/debug/pprof/cmdline", open, house(), 404, "not served"},
		{"unknown", "GET", "/v1/nothing", Options{}, house(), 404, "no page /v1/nothing; there are:\n  /livez"},
		{"filter misspelt", "GET", "/v1/quotas?usr=a", Options{}, house(), 400, `unknown parameter "usr"`},
		{"filter with a bad limit", "GET", "/v1/quotas?limit=0", Options{}, house(), 400, `limit="0" is not a whole number above zero`},
		{"filter with a bad switch", "GET", "/v1/quotas?throttled=2", Options{}, house(), 400, `throttled="2" is not true or false`},
		{"filter said twice", "GET", "/v1/quotas?user=a&user=b", Options{}, house(), 400, "parameter user stands twice\n"},
		{"filter badly escaped", "GET", "/v1/quotas?user=%zz", Options{}, house(), 400, `the parameters are badly escaped: invalid URL escape "%zz"`},
		{"resolve", "GET", "/v1/quotas/resolve?user=alice&client_id=b", Options{}, house(), 200, `"shared_by":"all clients of alice"`},
		{"resolve nobody", "GET", "/v1/quotas/resolve", Options{}, house(), 400, "whose limits? (user=, client_id= or ip=)\n"},
		{"resolve misspelt", "GET", "/v1/quotas/resolve?client-id=b", Options{}, house(), 400, `unknown parameter "client-id" (known: user, client_id, ip)`},
		{"resolve no address", "GET", "/v1/quotas/resolve?ip=nowhere", Options{}, house(), 400, "\"nowhere\" is not an address\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(t, tt.o, tt.deps, tt.method, tt.target)
			if got := body(t, r); r.StatusCode != tt.code || !strings.Contains(got, tt.want) {
				t.Errorf("%s %s = %d %q, want %d with %q", tt.method, tt.target, r.StatusCode, got, tt.code, tt.want)
			}
			if got := r.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control = %q", got)
			}
		})
	}
}

func TestQuotasDocument(t *testing.T) {
	want := `{"as_of":"2026-11-30T12:00:00Z","window_seconds":11,"entities":[{"entity":{"client_id":"loadgen"},"level":"client-id","muted_connections":1,` +
		`"quotas":{"produce":{"limit":1048576,"source":"override","unit":"bytes/s","enforced":true,"rate":1047552,"utilisation":0.999,"debt":0,` +
		`"muted_connections":1,"requests":20,"throttled_requests":14,"throttle_seconds":13.6,"last_throttle_ms":940,"last_throttled_at":"2026-11-30T12:00:00Z"}}}]}` + "\n"
	if diff := cmp.Diff(want, body(t, ask(t, Options{}, house(), "GET", "/v1/quotas"))); diff != "" {
		t.Errorf("/v1/quotas (-want +got):\n%s", diff)
	}
}

func TestResolveDocument(t *testing.T) {
	tests := []struct{ query, want string }{
		{"user=alice&ip=::1", `{"user":"alice","ip":"::1","quotas":[` +
			`{"quota":"produce","limit":1048576,"unit":"bytes/s","level":"user","shared_by":"all clients of alice","enforced":true,"hidden":[]},` +
			`{"quota":"connection","limit":null,"unit":"connections/s","level":"none","enforced":true,"hidden":[]}]}`},
		{"ip=::1", `{"ip":"::1","quotas":[{"quota":"connection","limit":null,"unit":"connections/s","level":"none","enforced":true,"hidden":[]}]}`},
		{"client_id=", `{"user":"ANONYMOUS","client_id":"","quotas":[{"quota":"produce","limit":1048576,"unit":"bytes/s","level":"user","shared_by":"all clients of ANONYMOUS","enforced":true,"hidden":[]}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			if diff := cmp.Diff(tt.want+"\n", body(t, ask(t, Options{}, house(), "GET", "/v1/quotas/resolve?"+tt.query))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuotasFilter(t *testing.T) {
	var got quota.StatusFilter
	d := house()
	d.Quotas = func(f quota.StatusFilter, _ time.Time) Quotas { got = f; return Quotas{} }
	r := ask(t, Options{}, d, "GET", "/v1/quotas?user=CN%3Da%2CO%3Dx&client_id=&ip=::1&throttled=true&limit=5")
	if text := body(t, r); !strings.Contains(text, `"entities":[]`) {
		t.Errorf("no entities = %s, want an empty list", text)
	}
	user, client, address := "CN=a,O=x", "", "::1"
	if diff := cmp.Diff(quota.StatusFilter{User: &user, ClientID: &client, IP: &address, Throttled: true, Limit: 5}, got); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
}

func TestStatusDocument(t *testing.T) {
	want := `{"version":"0.3.0","started":"2026-11-30T12:00:00Z","cluster_id":"c","node_id":1,"quota_model":"user",` +
		`"listeners":[{"name":"PLAINTEXT","protocol":"PLAINTEXT","address":"127.0.0.1:9092","advertised":"localhost:9092"}],` +
		`"data":{"dir":"./kaasd-data","size_bytes":42},` +
		`"credentials":{"file":"c.json","resolved":"","sha256":"","users":2,"last_good":"2026-11-30T12:00:00Z","last_try":null,"error":""},` +
		`"counts":{"connections":3,"topics":1,"partitions":8,"quotas":2}}` + "\n"
	if diff := cmp.Diff(want, body(t, ask(t, Options{}, house(), "GET", "/v1/status"))); diff != "" {
		t.Errorf("/v1/status (-want +got):\n%s", diff)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	ready := false
	RegisterMetrics(reg, Build{Version: "0.3.0", Revision: "3f1c2d9"}, func() bool { return ready })
	d := house()
	d.Metrics = reg
	if got := body(t, ask(t, Options{}, d, "GET", "/metrics")); !strings.Contains(got, "kaasd_ready 0\n") || !strings.Contains(got, `version="0.3.0"} 1`) {
		t.Errorf("metrics while not ready:\n%s", got)
	}
	ready = true
	if got := body(t, ask(t, Options{}, d, "GET", "/metrics")); !strings.Contains(got, "kaasd_ready 1\n") {
		t.Errorf("metrics while ready:\n%s", got)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

func TestOpenMetrics(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeOpenMetrics)))
	New(Options{}, house(), zap.NewNop()).ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/openmetrics-text") {
		t.Errorf("Content-Type = %q", got)
	}
}

func TestRun(t *testing.T) {
	s := New(Options{Listen: "127.0.0.1:0"}, house(), zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r, err := http.Head("http://" + s.Addr().String() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 200 || r.ContentLength != 6 {
		t.Errorf("HEAD /readyz = %d, %d bytes", r.StatusCode, r.ContentLength)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v", err)
	}
}

func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	err = New(Options{Listen: l.Addr().String()}, house(), zap.NewNop()).Listen()
	if want := "http.listen: port " + port + " on 127.0.0.1 is in use"; err == nil || err.Error() != want {
		t.Errorf("Listen = %v, want %s", err, want)
	}
}

func TestOff(t *testing.T) {
	s := New(Options{}, house(), zap.NewNop())
	if err := s.Listen(); err != nil || s.Addr() != nil {
		t.Errorf("Listen = %v, Addr = %v", err, s.Addr())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Errorf("Run = %v", err)
	}
}

// What is off is not listed.
func TestIndexListsWhatIsThere(t *testing.T) {
	body, err := io.ReadAll(ask(t, Options{}, house(), "GET", "/").Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []string{"/-/reload", "/debug/pprof/"} {
		if strings.Contains(string(body), off) {
			t.Errorf("%s is off and listed:\n%s", off, body)
		}
	}
}
