package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestMemoryLimit(t *testing.T) {
	const ram = "MemTotal:        8388608 kB\nMemFree: 1 kB\n"
	const v2, v1, meminfo = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/proc/meminfo"
	const groups, slice = "/proc/self/cgroup", "/sys/fs/cgroup/system.slice/"
	tests := []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"container", map[string]string{v2: "536870912\n", meminfo: ram}, 512 << 20},
		{"container of version 1", map[string]string{v1: "268435456\n", meminfo: ram}, 256 << 20},
		{"no limit", map[string]string{v2: "max\n", meminfo: ram}, 2 << 30},
		{"no limit in version 1", map[string]string{v1: "9223372036854771712\n", meminfo: ram}, 2 << 30},
		{"limit above the machine", map[string]string{v2: "99999999999999\n", meminfo: ram}, 2 << 30},
		{"container without meminfo", map[string]string{v2: "536870912\n"}, 512 << 20},
		{"nothing known", nil, 0},
		{"unit below a slice", map[string]string{groups: "0::/system.slice/kaasd.service\n", slice + "kaasd.service/memory.max": "536870912\n", slice + "memory.max": "max\n", meminfo: ram}, 512 << 20},
		{"slice below its unit", map[string]string{groups: "0::/system.slice/kaasd.service\n", slice + "kaasd.service/memory.max": "536870912\n", slice + "memory.max": "134217728\n", meminfo: ram}, 128 << 20},
		{"limit of the slice alone", map[string]string{groups: "0::/system.slice/kaasd.service\n", slice + "kaasd.service/memory.max": "max\n", slice + "memory.max": "134217728\n", meminfo: ram}, 128 << 20},
		{"group of version 1", map[string]string{groups: "9:cpu,cpuacct:/other\n7:memory:/docker/abc\n1:name=systemd:/docker/abc\n0::/docker/abc\n", "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "268435456\n", v1: "9223372036854771712\n", meminfo: ram}, 256 << 20},
		{"path of a namespace", map[string]string{groups: "0::/../../kaasd\n", "/sys/fs/cgroup/kaasd/memory.max": "268435456\n", meminfo: ram}, 256 << 20},
		{"group of the root", map[string]string{groups: "0::/\n", v2: "536870912\n", meminfo: ram}, 512 << 20},
		{"junk for a group", map[string]string{groups: "junk\n\n", meminfo: ram}, 2 << 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := memoryLimit(func(path string) ([]byte, error) {
				text, ok := tt.files[path]
				if !ok {
					return nil, errors.New("not there")
				}
				return []byte(text), nil
			})
			if got != tt.want {
				t.Errorf("limit = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestLogger(t *testing.T) {
	var b bytes.Buffer
	at := time.Date(2026, 11, 30, 12, 4, 7, 113e6, time.Local)
	write := func(console, colour bool) string {
		b.Reset()
		log := newLogger(&b, zapcore.InfoLevel, console, colour).Named("room").WithOptions(zap.WithClock(still(at)))
		log.Debug("not shown")
		log.Warn("kaasd ready", zap.String("version", "0.3.0"), zap.Duration("took", 38_200*time.Microsecond))
		return b.String()
	}
	utc := at.UTC().Format("2006-01-02T15:04:05")
	tests := []struct{ name, got, want string }{
		{"console", write(true, false), "12:04:07.113  warn   kaasd ready  {\"version\": \"0.3.0\", \"took\": \"38ms\"}\n"},
		{"colour", write(true, true), "12:04:07.113  \x1b[33mwarn \x1b[0m  kaasd ready  {\"version\": \"0.3.0\", \"took\": \"38ms\"}\n"},
		{"json", write(false, false), `{"level":"warn","ts":"` + utc + `.113Z","logger":"room","msg":"kaasd ready","version":"0.3.0","took":"38ms"}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLinesAreSeen: a name that a client made up stays one value on one line, and
// no terminal takes a part of it for a command.
func TestLinesAreSeen(t *testing.T) {
	const name = "alice\n{\"level\":\"info\"}\r\x1b[31m\x00\x7f\u009b31m\u202e\u2028\ufeff\U000e0041 \u00e4\u4e16\U0001f600 \xff"
	const escaped = `alice\n{\"level\":\"info\"}\r\u001b[31m\u0000\u007f\u009b31m\u202e\u2028\ufeff\udb40\udc41 ` + "\u00e4\u4e16\U0001f600" + ` \ufffd`
	for _, console := range []bool{true, false} {
		var b bytes.Buffer
		newLogger(&b, zapcore.InfoLevel, console, false).Info("quota changed", zap.String("principal", name), zap.Error(errors.New(name)))
		line := b.String()
		if strings.Count(line, "\n") != 1 || strings.Count(line, escaped) != 2 {
			t.Errorf("console %v: got %q", console, line)
		}
		var fields map[string]string
		if err := json.Unmarshal([]byte(line[strings.IndexByte(line, '{'):]), &fields); err != nil || fields["principal"] != strings.ToValidUTF8(name, "\ufffd") {
			t.Errorf("console %v: it says %q, %v", console, fields["principal"], err)
		}
	}
}

// still is a clock that stands.
type still time.Time

func (s still) Now() time.Time                       { return time.Time(s) }
func (s still) NewTicker(time.Duration) *time.Ticker { return time.NewTicker(time.Hour) }

func TestColours(t *testing.T) {
	tests := []struct {
		name string
		app  app
		want bool
	}{
		{"plain", app{}, true},
		{"flag", app{noColor: true}, false},
		{"variable", app{env: []string{"NO_COLOR=1"}}, false},
		{"empty variable", app{env: []string{"NO_COLOR="}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.app.colours(); got != tt.want {
				t.Errorf("colours = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	table(&b, "  ", [][]string{{"USER", "LIMIT"}, {"\u00e4nne", "1"}, {"a", ""}})
	if diff := cmp.Diff("  USER  LIMIT\n  \u00e4nne  1\n  a\n", b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMeter plays the books of a bucket: what passes between two moments at
// which it is empty is limit x time.
func TestMeter(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	m := meter{first: start, bytes: 2 << 20, burst: 1 << 20, from: start.Add(time.Second), last: start.Add(1900 * time.Millisecond), until: start.Add(2 * time.Second)}
	if got := m.rate(); got != 1<<20 {
		t.Errorf("rate = %v, want %v", got, 1<<20)
	}
	m = meter{first: start, last: start.Add(2 * time.Second), bytes: 4 << 20}
	if got := m.rate(); got != 2<<20 {
		t.Errorf("rate of who is never throttled = %v, want %v", got, 2<<20)
	}
	if got := (&meter{}).rate(); got != 0 {
		t.Errorf("rate of nobody = %v", got)
	}
}

func TestVerdict(t *testing.T) {
	play := func(limit, rate float64, throttled time.Duration, fetched int64) *player {
		start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		p := &player{user: "bob", limit: limit, fetched: fetched}
		p.acked.Store(7)
		p.meter.first, p.meter.last, p.meter.throttled = start, start.Add(time.Second), throttled
		p.meter.bytes = int64(rate)
		return p
	}
	tests := []struct {
		name string
		p    *player
		want string
	}{
		{"at the limit", play(1<<20, 1<<20, time.Second, 7), ""},
		{"above", play(1<<20, 1.2*(1<<20), time.Second, 7), "bob: 1.2 MiB/s is more than 10% off 1 MiB/s"},
		{"below", play(1<<20, 0.5*(1<<20), time.Second, 7), "bob: 512 KiB/s is more than 10% off 1 MiB/s"},
		{"never throttled", play(1<<20, 1<<20, 0, 7), "bob: never throttled"},
		{"without a limit", play(0, 1<<30, 0, 7), ""},
		{"throttled without a limit", play(0, 1<<20, time.Second, 7), "bob: throttled for 1s without a quota"},
		{"records lost", play(0, 1<<20, 0, 6), "bob: 6 records came back of 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.p.verdict(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("verdict = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestJoinedLines(t *testing.T) {
	texts := make([]string, maxLines+2)
	for i := range texts {
		texts[i] = "x"
	}
	var out strings.Builder
	code := (&app{err: &out}).report(joinedLines(exitRefused, texts, "%s!"))
	if want := strings.Repeat("kaasd: x!\n", maxLines) + "kaasd: and 2 more\n"; code != exitRefused || out.String() != want {
		t.Errorf("exit %d, lines\n%s", code, out.String())
	}
}

func TestPrintable(t *testing.T) {
	tests := map[string]string{"alice": "alice", "\u00e4 b": "\u00e4 b", `say "x"`: `say "x"`, "a\x1b[2J\"b": `a\x1b[2J"b`, "\xff": `\xff`, "a\nb": `a\nb`, "\u202ex": `\u202ex`}
	for text, want := range tests {
		if got := printable(text); got != want {
			t.Errorf("printable(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestTableIsNotAsWideAsItsLongestName(t *testing.T) {
	long := strings.Repeat("n", 400)
	var out strings.Builder
	table(&out, "", [][]string{{"ENTITY", "PRODUCE"}, {"user a", "1/s"}, {"user " + long, "2/s"}})
	want := "ENTITY" + strings.Repeat(" ", widest-4) + "PRODUCE\nuser a" + strings.Repeat(" ", widest-4) + "1/s\nuser " + long + "  2/s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
