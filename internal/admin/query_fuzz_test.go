package admin

import (
	"net/url"
	"testing"
)

// FuzzFilter: the query of /v1/quotas is understood as a whole or refused.
func FuzzFilter(f *testing.F) {
	for _, q := range []string{"", "user=alice&limit=5", "user=&client_id=%00", "throttled=true", "throttled=maybe", "limit=-1", "limit=99999999999999999999", "user=a&user=b", "x=y", "a;b", "%zz", "ip=::1&&"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		filter, err := parseFilter(query)
		if err != nil {
			return
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatalf("taken, and cannot be read: %v", err)
		}
		if filter.Limit < 0 || values.Has("limit") != (filter.Limit > 0) {
			t.Errorf("limit %d of %q", filter.Limit, query)
		}
		for name, got := range map[string]*string{"user": filter.User, "client_id": filter.ClientID, "ip": filter.IP} {
			if values.Has(name) != (got != nil) || got != nil && *got != values.Get(name) {
				t.Errorf("%s of %q", name, query)
			}
		}
	})
}
