package kafka

import (
	"net/netip"
	"testing"
)

func TestNetwork(t *testing.T) {
	for host, want := range map[string]string{
		"192.0.2.7":                 "192.0.2.7/32",
		"::ffff:192.0.2.7":          "192.0.2.7/32",
		"2001:db8:0:1:ffff::7":      "2001:db8:0:1::/64",
		"fe80::1%eth0":              "fe80::/64",
		"::":                        "::/64",
		"localhost (is no address)": "invalid Prefix",
	} {
		a, _ := netip.ParseAddr(host)
		if got := Network(a); got.String() != want {
			t.Errorf("%s is in %s, want %s", host, got, want)
		}
	}
}
