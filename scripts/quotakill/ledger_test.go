package main

import (
	"strings"
	"testing"
)

func TestSettle(t *testing.T) {
	alice, bob := entity{user: "alice"}, entity{user: "bob"}
	one, two := values{"producer_byte_rate": 10_000}, values{"producer_byte_rate": 20_000}
	for _, c := range []struct {
		name         string
		acked, asked map[entity]values
		described    map[entity]values
		there        int
		gone         int
		fault        string
	}{
		{"all that was acknowledged", map[entity]values{alice: one}, nil, map[entity]values{alice: one}, 0, 0, ""},
		{"removed values", map[entity]values{alice: {}}, nil, nil, 0, 0, ""},
		{"a lost one", map[entity]values{alice: one}, nil, nil, 0, 0, "acknowledged were"},
		{"an older value", map[entity]values{alice: two}, nil, map[entity]values{alice: one}, 0, 0, "acknowledged were"},
		{"a removed value came back", map[entity]values{alice: {}}, nil, map[entity]values{alice: one}, 0, 0, "acknowledged were"},
		{"not answered and there", map[entity]values{alice: one}, map[entity]values{alice: two, bob: two}, map[entity]values{alice: two, bob: two}, 1, 0, ""},
		{"not answered and not there", map[entity]values{alice: one}, map[entity]values{alice: two, bob: two}, map[entity]values{alice: one}, 0, 1, ""},
		{"half of a request", map[entity]values{alice: one}, map[entity]values{alice: two, bob: two}, map[entity]values{alice: two}, 0, 0, "asked for"},
		{"somebody else's", map[entity]values{alice: one}, nil, map[entity]values{alice: one, {ip: "::1"}: one}, 0, 0, "nobody has altered"},
	} {
		l := &ledger{entities: []entity{alice, bob}, acked: c.acked, asked: c.asked}
		got, err := settle([]*ledger{l}, c.described)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: got %v, want an error with %q", c.name, err, c.fault)
			}
		} else if err != nil || got.there != c.there || got.gone != c.gone {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
	}
}
