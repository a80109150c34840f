package credstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/kafka"
)

// house is a store with its file, log and metrics.
type house struct {
	t     *testing.T
	path  string
	store *Store
	logs  *observer.ObservedLogs
	reg   *prometheus.Registry
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "credentials.json") }

func open(t *testing.T, path string) *house {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	reg := prometheus.NewRegistry()
	o := DefaultOptions()
	o.Watch.Quiet = 20 * time.Millisecond
	s, err := Open(path, o, zap.New(core), reg)
	if err != nil {
		t.Fatal(err)
	}
	return &house{t, path, s, logs, reg}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// names is a file of users without anything.
func names(users ...string) string {
	var entries []string
	for _, u := range users {
		entries = append(entries, fmt.Sprintf(`{"username":%q,"authType":"tls","tlsCN":%q}`, u, u))
	}
	return `{"users":[` + strings.Join(entries, ",\n") + `]}`
}

func (h *house) users() string {
	var users []string
	for _, u := range h.store.Snapshot().Sorted() {
		users = append(users, u.Username)
	}
	return strings.Join(users, " ")
}

// gauge is kaasd_credentials_last_reload_successful.
func (h *house) gauge() float64 { return testutil.ToFloat64(h.store.metrics.reloads.Successful) }

// lines is what was logged above debug since the last call.
func (h *house) lines() []string {
	var lines []string
	for _, e := range h.logs.TakeAll() {
		if e.Level > zap.DebugLevel {
			lines = append(lines, e.Level.String()+" "+e.Message)
		}
	}
	return lines
}

func TestReloadStory(t *testing.T) {
	path := file(t)
	h := open(t, path)
	const (
		kept   = "error credentials not reloaded, the last good file stays in force"
		loaded = "info credentials reloaded"
	)
	steps := []struct {
		name    string
		change  func()
		outcome Outcome
		users   string
		gauge   float64
		lines   []string
	}{
		{"still missing", func() {}, Unchanged, "", 1, nil},
		{"no bytes yet", func() { write(t, path, "") }, Unchanged, "", 1, nil},
		{"first content", func() { write(t, path, names("a", "b")) }, Applied, "a b", 1, []string{loaded}},
		{"same content", func() {}, Unchanged, "a b", 1, nil},
		{"bad", func() { write(t, path, `{"users":[`) }, Failed, "a b", 0, []string{kept}},
		{"old content after bad", func() { write(t, path, names("a", "b")) }, Unchanged, "a b", 1, nil},
		{"no bytes", func() { write(t, path, "") }, Failed, "a b", 0, []string{kept}},
		{"missing", func() { os.Remove(path) }, Failed, "a b", 0, []string{kept}},
		{"still missing", func() {}, Failed, "a b", 0, nil},
		{"back, unchanged", func() { write(t, path, names("a", "b")) }, Unchanged, "a b", 1, []string{"info credentials file is there and unchanged"}},
		{"missing again", func() { os.Remove(path) }, Failed, "a b", 0, []string{kept}},
		{"back, other content", func() { write(t, path, names("b", "c")) }, Applied, "b c", 1, []string{loaded}},
		{"a folder", func() { os.Remove(path); os.Mkdir(path, 0o700) }, Failed, "b c", 0, []string{kept}},
		{"no users", func() { os.Remove(path); write(t, path, `{"users":[]}`) }, Applied, "", 1, []string{loaded}},
		{"bad after no users", func() { write(t, path, `{}`) }, Failed, "", 0, []string{kept}},
	}
	if diff := cmp.Diff([]string{"warn credentials file is missing or empty: there are no users until it has content, which is picked up when it appears"}, h.lines()); diff != "" {
		t.Error(diff)
	}
	for _, s := range steps {
		s.change()
		r := h.store.Reload(TriggerSignal)
		if r.Outcome != s.outcome || (r.Err != nil) != (s.outcome == Failed) {
			t.Errorf("%s: got %v, want %s", s.name, r, s.outcome)
		}
		if got := h.users(); got != s.users {
			t.Errorf("%s: users %q, want %q", s.name, got, s.users)
		}
		if got := h.gauge(); got != s.gauge {
			t.Errorf("%s: gauge %v, want %v", s.name, got, s.gauge)
		}
		if diff := cmp.Diff(s.lines, h.lines()); diff != "" {
			t.Errorf("%s: log %s", s.name, diff)
		}
		if got := h.store.Status().Error; (got != "") != (s.outcome == Failed) {
			t.Errorf("%s: status says %q", s.name, got)
		}
	}
}

func TestReloadResult(t *testing.T) {
	path := file(t)
	write(t, path, names("a", "b"))
	h := open(t, path)
	write(t, path, `{"users":[{"username":"b","authType":"tls","quotas":{"requestPercentage":5}},{"username":"c","authType":"plain","plainPassword":"hush"}]}`)
	r := h.store.Reload(TriggerHTTP)
	if got, want := r.String(), "credentials reloaded: 2 users, 1 added, 1 removed, 1 with changed quotas"; got != want {
		t.Errorf("got %s", got)
	}
	write(t, path, "{\"users\":[\n{\"username\":\"c\",\"authType\":\"plain\",\"plainPassword\":777000111}]}")
	if got, want := h.store.Reload(TriggerHTTP).String(),
		`credentials not reloaded, the last good file stays in force: line 2: users[0] "c": plainPassword must be a string, not a number`; got != want {
		t.Errorf("got %s", got)
	}
	reloads := h.store.metrics.reloads.Total
	for labels, want := range map[[2]string]float64{{"start", "applied"}: 1, {"http", "applied"}: 1, {"http", "failed"}: 1, {"http", "unchanged"}: 0, {"signal", "failed"}: 0} {
		if got := testutil.ToFloat64(reloads.WithLabelValues(labels[0], labels[1])); got != want {
			t.Errorf("%v: %v, want %v", labels, got, want)
		}
	}
	for _, e := range h.logs.All() {
		if text := fmt.Sprint(e.Message, e.ContextMap()); strings.Contains(text, "hush") || strings.Contains(text, "777000111") {
			t.Errorf("a password in the log: %s", text)
		}
	}
}

func TestReloadLogLine(t *testing.T) {
	path := file(t)
	write(t, path, names("a"))
	h := open(t, path)
	h.store.Subscribe(func(old, next *Snapshot) []zap.Field { return []zap.Field{zap.Int("hidden_by_override", 3)} })
	h.lines()
	write(t, path, names("a", "b"))
	h.store.Reload(TriggerWatch)
	got := h.logs.TakeAll()[0].ContextMap()
	delete(got, "took")
	resolved, _ := filepath.EvalSymlinks(path)
	if diff := cmp.Diff(map[string]any{
		"trigger": "watch", "users": int64(2), "added": int64(1), "removed": int64(0), "quotas_changed": int64(0),
		"sha256": h.store.Snapshot().SHA256[:6], "hidden_by_override": int64(3), "file": resolved,
	}, got); diff != "" {
		t.Error(diff)
	}
	write(t, path, "{")
	h.store.Reload(TriggerWatch)
	got = h.logs.TakeAll()[0].ContextMap()
	delete(got, "in_force_since")
	if diff := cmp.Diff(map[string]any{"trigger": "watch", "file": path, "error": "line 1: the file is not JSON: unexpected end of JSON input"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsAreOneLineForEachKind(t *testing.T) {
	path := file(t)
	var entries []string
	for i := range 100 {
		entries = append(entries, fmt.Sprintf(`{"username":"u%d","authType":"plain","plainPassword":"hush"},{"username":"v%d","authType":"odd","x":1}`, i, i))
	}
	write(t, path, `{"version":3,"users":[`+strings.Join(entries, ",")+`]}`)
	if diff := cmp.Diff([]string{
		"info credentials loaded",
		"warn credentials: entries that cannot log in",
		"warn credentials: the file has a newer version than this kaasd knows",
		"warn credentials: users with a readable password",
	}, open(t, path).lines()); diff != "" {
		t.Error(diff)
	}
}

func TestOpenRefusesABadFile(t *testing.T) {
	path := file(t)
	for text, want := range map[string]string{
		"{\n":          path + ":1: the file is not JSON: unexpected end of JSON input",
		"{}":           path + ":1: users is missing",
		`{"users":{}}`: path + ":1: users must be an array, not an object",
	} {
		write(t, path, text)
		_, err := Open(path, DefaultOptions(), zap.NewNop(), nil)
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := Open(filepath.Dir(path), DefaultOptions(), zap.NewNop(), nil); err == nil {
		t.Error("a folder is taken")
	}
}

func TestWithoutAFile(t *testing.T) {
	h := open(t, "")
	if r := h.store.Reload(TriggerSignal); r.Outcome != Unchanged || h.users() != "" || h.gauge() != 1 {
		t.Errorf("got %v, gauge %v", r, h.gauge())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.store.Run(ctx); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string(nil), h.lines()); diff != "" {
		t.Error(diff)
	}
}

func TestStatus(t *testing.T) {
	path := file(t)
	write(t, path, names("a"))
	link := filepath.Join(filepath.Dir(path), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	h := open(t, link)
	write(t, path, "{}")
	h.store.Reload(TriggerPoll)
	got := h.store.Status()
	resolved, _ := filepath.EvalSymlinks(path)
	if got.InForce.IsZero() || got.LastGood.Before(got.InForce) || !got.LastTry.After(got.LastGood) {
		t.Errorf("times %v", got)
	}
	got.InForce, got.LastGood, got.LastTry = time.Time{}, time.Time{}, time.Time{}
	want := Status{File: link, Resolved: resolved, SHA256: h.store.Snapshot().SHA256, Users: 1, Error: "line 1: users is missing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMetrics(t *testing.T) {
	path := file(t)
	write(t, path, fmt.Sprintf(sample, keyed(64), keyed(32)))
	h := open(t, path)
	want := `
# HELP kaasd_credentials_users Users in force.
# TYPE kaasd_credentials_users gauge
kaasd_credentials_users{auth_type="kubernetes-serviceaccount"} 1
kaasd_credentials_users{auth_type="other"} 1
kaasd_credentials_users{auth_type="scram-sha-256"} 1
kaasd_credentials_users{auth_type="scram-sha-512"} 2
kaasd_credentials_users{auth_type="tls"} 1
`
	if err := testutil.GatherAndCompare(h.reg, strings.NewReader(want), "kaasd_credentials_users"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(h.reg); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// follow runs the store with real file events and gives the users of each
// swap.
func (h *house) follow() <-chan string {
	swaps := make(chan string, 100)
	h.store.Subscribe(func(_, next *Snapshot) []zap.Field {
		var users []string
		for _, u := range next.Sorted() {
			users = append(users, u.Username)
		}
		swaps <- strings.Join(users, " ")
		return nil
	})
	<-swaps // the content in force
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.store.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
	return swaps
}

func await(t *testing.T, swaps <-chan string, want string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case got := <-swaps:
			if got == want {
				return
			}
		case <-deadline:
			t.Fatalf("users %q never came", want)
		}
	}
}

// The last of fifty versions is the one that stays, after a few swaps.
func TestRunFollowsRenames(t *testing.T) {
	path := file(t)
	write(t, path, names("a"))
	h := open(t, path)
	swaps := h.follow()
	for i := range 50 {
		write(t, path+".tmp", names("a", fmt.Sprintf("b%d", i)))
		if err := os.Rename(path+".tmp", path); err != nil {
			t.Fatal(err)
		}
	}
	await(t, swaps, "a b49")
	if len(swaps) > 0 {
		t.Errorf("a swap after the last version: %s", <-swaps)
	}
}

// A user whose entry does not change can log in at every moment of a save
// that truncates the file first.
func TestRunNeverDropsUnchangedUsers(t *testing.T) {
	path := file(t)
	v1 := `{"users":[{"username":"a","authType":"scram-sha-512","scram":` + keyed(64) + `}`
	write(t, path, v1+`]}`)
	h := open(t, path)
	swaps := h.follow()
	stop, failed := make(chan struct{}), make(chan bool, 1)
	go func() {
		missed := false
		for {
			select {
			case <-stop:
				failed <- missed
				return
			default:
				_, ok := h.store.Scram("a", kafka.ScramSHA512)
				missed = missed || !ok
			}
		}
	}()
	for i := range 20 {
		name := fmt.Sprintf("b%d", i)
		text := v1 + `,{"username":"` + name + `","authType":"tls"}]}`
		write(t, path, "")
		write(t, path, text[:len(text)/2])
		write(t, path, text)
		await(t, swaps, "a "+name)
	}
	close(stop)
	if <-failed {
		t.Error("a was refused at some moment")
	}
}

func TestRunComesBackAfterBadAndMissing(t *testing.T) {
	path := file(t)
	h := open(t, path)
	swaps := h.follow()
	write(t, path, names("a"))
	await(t, swaps, "a")
	write(t, path, "{")
	write(t, path, names("b"))
	await(t, swaps, "b")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, names("c"))
	await(t, swaps, "c")
}
