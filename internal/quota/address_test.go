package quota

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// hosts are those that the name service of these tests knows.
var hosts = map[string][]string{
	"4f5a1c2b3d4e": {"10.0.0.4"}, "localhost": {"::1", "127.0.0.1"}, "six.example": {"fe80::2%eth0"}, "moved.example": {"10.0.0.7"},
}

func resolveHosts(_ context.Context, _, host string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, a := range hosts[host] {
		all = append(all, netip.MustParseAddr(a))
	}
	if all == nil {
		return nil, errors.New("no such host")
	}
	return all, nil
}

// TestIPNames is the table of names: what each one means, "" is refused.
func TestIPNames(t *testing.T) {
	for name, want := range map[string]string{
		"1.2.3.4": "1.2.3.4", "::1": "::1", "0:0:0:0:0:0:0:1": "::1", "[::1]": "::1", "fe80::1%1": "fe80::1", "fe80::1%eth0": "fe80::1",
		"::ffff:1.2.3.4": "1.2.3.4", "1.2.3": "1.2.0.3", "1.2": "1.0.0.2", "16909060": "1.2.3.4", "010.0.0.1": "10.0.0.1", "1.2.772": "1.2.3.4",
		"0": "0.0.0.0", "255.255.255.255": "255.255.255.255", "4294967295": "255.255.255.255",
		"4f5a1c2b3d4e": "10.0.0.4", "localhost": "127.0.0.1", "six.example": "fe80::2",
		"1.2.3.4/24": "", "256.1.1.1": "", "127.0.0.1 ": "", " 127.0.0.1": "", "not a host": "", "example.invalid": "",
		"0x7f.0.0.1": "", "1.2.3.4.5": "", "1.2.3.4:9092": "", "*": "", "<default>": "", ":::1": "", "::1::2": "", "[1.2.3.4]": "", "[::1": "",
		"4294967296": "", "1.2.65536": "", "+1.2.3.4": "", "1..2": "", ".": "", "-1": "", "host.0x7f": "", "host.0X": "", "\xff": "", "1.2.3.4.": "",
	} {
		e := newKafka()
		e.lookup = func(ctx context.Context, network, host string) ([]netip.Addr, error) {
			if host == "0x7f.0.0.1" || host == "1.2.3.4.5" || host == "256.1.1.1" {
				t.Errorf("the name service is asked for %q", host)
			}
			return resolveHosts(ctx, network, host)
		}
		r := alter(e, parts("ip="+name), set(kafka.ConnectionCreationRate, 5))
		if (r.Err == nil) != (want != "") || r.Err != nil && r.Err.Code != kafka.InvalidRequest {
			t.Errorf("%q: %v, want it to be %q", name, r.Err, want)
			continue
		}
		if want == "" {
			continue
		}
		if by := e.decideAddress(netip.MustParseAddr(want)); by == nil || by.owner.IP.Name != name {
			t.Errorf("%q does not limit %s", name, want)
		}
		if got := *components(e.withSettings()[0])[0].Name; got != name {
			t.Errorf("%q is stored as %q", name, got)
		}
	}
}

// TestIPAliases holds T41: several names of one address are kept apart, the
// lowest is in force, and removing one leaves the others.
func TestIPAliases(t *testing.T) {
	e, key := newKafka(), kafka.ConnectionCreationRate
	e.lookup = resolveHosts
	limit := func(peer string, want float64) {
		t.Helper()
		b := e.addressBucket(canonical(netip.MustParseAddr(peer)))
		got := 0.0
		if b != nil {
			got = b.limit.Load().rate
		}
		if got != want {
			t.Errorf("%s has %g, want %g", peer, got, want)
		}
	}
	give(t, e, "ip=::1", key, 11)
	give(t, e, "ip=0:0:0:0:0:0:0:1", key, 12)
	give(t, e, "ip=127.0.0.1", key, 14)
	give(t, e, "ip=localhost", key, 13)
	limit("::1", 11)
	limit("127.0.0.1", 13)
	limit("::ffff:127.0.0.1", 13)
	give(t, e, "ip=::1", key, 0)
	limit("::1", 12)
	give(t, e, "ip=0:0:0:0:0:0:0:1", key, 10)
	limit("::1", 10)
	give(t, e, "ip=0:0:0:0:0:0:0:1", key, 0)
	limit("::1", 0)
	give(t, e, "ip=localhost", key, 0)
	limit("127.0.0.1", 14)

	// A10: explicit, changed, default, removed.
	give(t, e, "ip=1.2.3.4", key, 100)
	give(t, e, "ip=1.2.3.4", key, 150)
	give(t, e, "ip", key, 200)
	limit("1.2.3.4", 150)
	limit("2.3.4.5", 200)
	give(t, e, "ip=9.9.9.9", key, maxInt) // is not tracked
	limit("9.9.9.9", 0)
	give(t, e, "ip=1.2.3.4", key, 0)
	limit("1.2.3.4", 200)
	give(t, e, "ip", key, 0)
	limit("1.2.3.4", 0)
	limit("2.3.4.5", 0)
	give(t, e, "ip=127.0.0.1", key, 0)
	give(t, e, "ip=9.9.9.9", key, 0)
	sweepAll(e, time.Now().Add(2*time.Hour))
	if len(e.accounts.all)+len(e.aliases)+len(e.addresses) != 0 {
		t.Errorf("left over: %d accounts, %v, %v", len(e.accounts.all), e.aliases, e.addresses)
	}
}

// TestIPNameThatMoved: a stored name that cannot be resolved any more can be
// altered and removed, and keeps its address; one that moved moves when it is set.
func TestIPNameThatMoved(t *testing.T) {
	e, key := newKafka(), kafka.ConnectionCreationRate
	e.lookup = resolveHosts
	e.Restore([]Setting{{kafka.Entity{IP: kafka.Named("gone.example")}, Limits{key: 5}, netip.MustParseAddr("10.0.0.9")}}, nil)
	give(t, e, "ip=gone.example", key, 7)
	if by := e.decideAddress(netip.MustParseAddr("10.0.0.9")); by == nil || by.limits[Connection] != 7 {
		t.Errorf("got %v", by)
	}
	give(t, e, "ip=gone.example", key, 0)
	if len(e.withSettings())+len(e.aliases) != 0 {
		t.Error("it was not removed")
	}
	e.Restore([]Setting{{kafka.Entity{IP: kafka.Named("moved.example")}, Limits{key: 5}, netip.MustParseAddr("10.0.0.1")}}, nil)
	give(t, e, "ip=moved.example", key, 6)
	if e.decideAddress(netip.MustParseAddr("10.0.0.1")) != nil || e.decideAddress(netip.MustParseAddr("10.0.0.7")) == nil {
		t.Error("the limit did not move")
	}
}

// TestSlowNameService: a request waits for names for a bounded time, and
// nothing else waits for it.
func TestSlowNameService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newKafka()
		e.lookup = func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		begin, done := time.Now(), make(chan []Result)
		go func() {
			var entries []Alteration
			for _, name := range []string{"a.example", "b.example", "1.2.3.4"} {
				entries = append(entries, Alteration{parts("ip=" + name), []Op{set(kafka.ConnectionCreationRate, 1)}})
			}
			done <- e.Alter(context.Background(), time.Now(), entries, false)
		}()
		synctest.Wait()
		give(t, e, "user=alice", kafka.ProducerByteRate, 5)
		if got := time.Since(begin); got != 0 {
			t.Errorf("another alteration waited %v", got)
		}
		if got := codes(<-done); got != "42 42 0" || time.Since(begin) != maxLookup {
			t.Errorf("%s after %v", got, time.Since(begin))
		}
	})
}
