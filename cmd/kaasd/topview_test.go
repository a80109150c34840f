package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/admin"
	"kaasd/internal/quota"
)

// moments are the pages of one broker at two moments, two seconds apart.
func moments() (first, second topSample) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	name := func(s string) *string { return &s }
	limit := func(v float64) *float64 { return &v }
	sample := func(at time.Time, requests, fetches int64, throttle float64) topSample {
		return topSample{
			status: admin.Status{Version: "0.3.0", Started: time.Date(2026, 11, 30, 8, 48, 0, 0, time.UTC), Counts: admin.Counts{Connections: 42}},
			quotas: admin.Quotas{AsOf: at, Entities: []quota.EntityStatus{
				{Entity: quota.EntityName{ClientID: name("loadgen")}, MutedConnections: 2, Quotas: map[string]quota.QuotaStatus{
					"produce": {Limit: limit(1 << 20), Unit: "bytes/s", Enforced: true, Rate: 1_047_600, Utilisation: 0.999, Requests: requests, ThrottleSeconds: throttle, MutedConnections: 2}}},
				{Entity: quota.EntityName{User: name("alice")}, Quotas: map[string]quota.QuotaStatus{
					"fetch":    {Limit: limit(20 << 20), Unit: "bytes/s", Enforced: true, Rate: 3.1 * (1 << 20), Utilisation: 0.155, Requests: fetches},
					"request":  {Limit: limit(50), Unit: "percent", Enforced: true, Rate: 4.04, Utilisation: 0.0808, Requests: fetches},
					"mutation": {Limit: limit(10), Unit: "partitions/s", Enforced: true, Rate: 0.25, Utilisation: 0.025}}},
				{Entity: quota.EntityName{UserDefault: true}, Quotas: map[string]quota.QuotaStatus{
					"produce": {Limit: limit(1 << 20), Unit: "bytes/s", Enforced: true}}},
				{Entity: quota.EntityName{User: name("a\x1b[2J"), ClientID: name("")}, Quotas: map[string]quota.QuotaStatus{
					"produce": {Unit: "bytes/s", Enforced: true, Rate: 5, Requests: 1},
					"request": {Limit: limit(1), Unit: "percent"}}},
			}},
		}
	}
	return sample(at, 10, 100, 5), sample(at.Add(2*time.Second), 12, 124, 6.88)
}

func newView() *topView {
	first, second := moments()
	v := &topView{sort: "use", limit: 20, interval: time.Second}
	v.take(first)
	v.take(second)
	return v
}

func TestTopView(t *testing.T) {
	tests := []struct {
		name          string
		keys          []string
		width, height int
		want          string
	}{
		{"by use", nil, 96, 8, `
kaasd 0.3.0  up 3h12m  42 connections, 2 muted  1 of 3 entities throttled               every 1s
QUOTA     USER      CLIENT-ID  LIMIT     RATE       USE   THROTTLE/S  REQ/S  MUTED
produce   -         loadgen    1 MiB/s   1.0 MiB/s  100%  0.94 s      1      2
fetch     alice     -          20 MiB/s  3.1 MiB/s   16%  0           12     0
request   alice     -          50%       4%           8%  0           -      0
mutation  alice     -          10/s      0.3/s        2%  0           0      0
produce   a\x1b[2J  ""         none      5 B/s        -   0           0      0
s sort: use   / filter   p pause   q quit`},
		{"by rate", []string{"s"}, 83, 6, `
kaasd 0.3.0  up 3h12m  42 connections, 2 muted  1 of 3 entities throttled  every 1s
QUOTA     USER      CLIENT-ID  LIMIT     RATE       USE   THROTTLE/S  REQ/S  MUTED
produce   -         loadgen    1 MiB/s   1.0 MiB/s  100%  0.94 s      1      2
produce   a\x1b[2J  ""         none      5 B/s        -   0           0      0
fetch     alice     -          20 MiB/s  3.1 MiB/s   16%  0           12     0
s sort: rate   / filter   p pause   q quit`},
		{"a filter, and more room than rows", []string{"/al", "xx\x7f", "\b", "i\r", "sss"}, 20, 6, `
kaasd 0.3.0  up 3h12
QUOTA     USER   CLI
fetch     alice  -  
request   alice  -  
mutation  alice  -  
s sort: user   / fil`},
		{"a filter that is being typed", []string{"/m", "u"}, 60, 4, `
kaasd 0.3.0  up 3h12m  42 connections, 2 muted  1 of 3 entit
QUOTA     USER   CLIENT-ID  LIMIT  RATE   USE   THROTTLE/S  
mutation  alice  -          10/s   0.3/s    2%  0           
filter: mu_   Enter keeps it, Esc drops it`},
		{"escape drops it, an arrow is no key", []string{"/mu", "\x1b", "\x1b[A", "p"}, 100, 3, `
kaasd 0.3.0  up 3h12m  42 connections, 2 muted  1 of 3 entities throttled                     paused
QUOTA     USER      CLIENT-ID  LIMIT     RATE       USE   THROTTLE/S  REQ/S  MUTED
s sort: use   / filter   p go on   q quit`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newView()
			for _, keys := range tt.keys {
				if v.press(keys) {
					t.Fatalf("%q ends the screen", keys)
				}
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), strings.Join(v.lines(tt.width, tt.height), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTopViewBeforeAnything(t *testing.T) {
	v := &topView{sort: "use", limit: 20, interval: time.Second}
	want := []string{"waiting for the first answer  every 1s", "QUOTA  USER  CLIENT-ID  LIMIT  RATE  U", "s sort: use   / filter   p pause   q q"}
	got := v.lines(38, 3)
	if diff := cmp.Diff(want, []string{got[0], strings.TrimRight(got[1], " "), got[2]}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTopKeysThatEnd(t *testing.T) {
	for _, keys := range []string{"q", "sq", "\x03", "/ab\x03", "/ab\rq"} {
		if !newView().press(keys) {
			t.Errorf("%q does not end the screen", keys)
		}
	}
	if newView().press("/q") {
		t.Error("q ends the screen within a filter")
	}
}

// TestTopDefault: a default has a line of its own when it is charged for
// those that are too many.
func TestTopDefault(t *testing.T) {
	_, sample := moments()
	e := &sample.quotas.Entities[2]
	e.Quotas["produce"] = quota.QuotaStatus{Enforced: true, Requests: 1}
	v := &topView{limit: 1, filter: "others"}
	v.take(sample)
	if rows := v.shown(); len(rows) != 1 || nameCell(rows[0].User) != "(others)" || v.counts.Entities != 4 {
		t.Errorf("rows = %+v of %+v", rows, v.counts)
	}
}

// TestTopCountersAnew: a counter that is smaller than before has begun anew.
func TestTopCountersAnew(t *testing.T) {
	first, second := moments()
	v := &topView{}
	v.take(second)
	first.quotas.AsOf = second.quotas.AsOf.Add(10 * time.Second)
	v.take(first)
	if row := v.rows[0]; row.Throttle != 0.5 || row.Requests != 1 {
		t.Errorf("throttle %v, requests %v a second, want 0.5 and 1", row.Throttle, row.Requests)
	}
}

func TestTopAddresses(t *testing.T) {
	address, limit := "::1", 5.0
	rows := topTable([]topRow{{Quota: "connection", IP: &address, Limit: &limit, Rate: 4.2, Use: 0.84, Requests: 42, Muted: 1}})
	var b strings.Builder
	table(&b, "", rows)
	want := "QUOTA       USER  CLIENT-ID  IP   LIMIT  RATE   USE   THROTTLE/S  REQ/S  MUTED\n" +
		"connection  -     -          ::1  5/s    4.2/s   84%  0           42     1\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUpText(t *testing.T) {
	tests := map[time.Duration]string{0: "0s", 12*time.Second + 1: "12s", 61 * time.Second: "1m1s", 3*time.Hour + 12*time.Minute + 59*time.Second: "3h12m", 52 * time.Hour: "2d4h"}
	for d, want := range tests {
		if got := upText(d); got != want {
			t.Errorf("upText(%v) = %s, want %s", d, got, want)
		}
	}
}
