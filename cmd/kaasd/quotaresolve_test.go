package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/admin"
	"kaasd/internal/quota"
)

// TestShowResolution holds what is said of a limit that is kept and not
// enforced, and of the values that do not apply.
func TestShowResolution(t *testing.T) {
	limit := func(v float64) *float64 { return &v }
	alice, address := "alice", "::1"
	r := admin.Resolution{User: &alice, IP: &address, Quotas: []quota.Resolution{
		{Quota: "produce", Limit: limit(10 << 20), Level: "user", Source: "override", SharedBy: "all clients of alice", Enforced: true, Hidden: []quota.Hidden{
			{Limit: 1 << 20, Level: "user", Source: "base"}, {Limit: 5 << 20, Level: "user-default", Source: "override"}}},
		{Quota: "fetch", Limit: limit(1000), Level: "user+client-id", Source: "override", SharedBy: "nobody else", Enforced: true, Hidden: []quota.Hidden{
			{Limit: 3, Level: "user", Source: "override"}, {Limit: 2, Level: "user", Source: "base"}}},
		{Quota: "request", Limit: limit(50), Level: "user", Source: "base", SharedBy: "all clients of alice"},
		{Quota: "mutation", Level: "none", Enforced: true},
		{Quota: "connection", Limit: limit(20), Level: "ip-default", Source: "override", SharedBy: "all connections from ::1", Enforced: true},
	}}
	want := `QUOTA       LIMIT                       LEVEL           SOURCE    SHARED BY
produce     10 MiB/s                    user            override  all clients of alice
fetch       1 kB/s                      user+client-id  override  nobody else
request     50% (stored, not enforced)  user            base      all clients of alice
mutation    none                        none            -         -
connection  20/s                        ip-default      override  all connections from ::1
hidden: produce 1 MiB/s  user  base  (the override wins)
hidden: produce 5 MiB/s  user-default  override  (user wins)
hidden: fetch 3 B/s  user  override  (user+client-id wins)
hidden: fetch 2 B/s  user  base  (the override wins)
`
	var out, notes strings.Builder
	(&app{out: &out, err: &notes}).showResolution(r)
	if diff := cmp.Diff(want, out.String()); diff != "" || notes.Len() > 0 {
		t.Errorf("notes %q; (-want +got):\n%s", notes.String(), diff)
	}
}
