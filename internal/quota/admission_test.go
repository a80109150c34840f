package quota

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

var peer = netip.MustParseAddr("10.1.2.3")

// TestIPQuota holds T39: from idle a bucket's worth passes, the next one is held
// for a second at most; what is refused takes nothing.
func TestIPQuota(t *testing.T) {
	for limit, burst := range map[float64]int{1: 10, 3: 30, 7: 70, 20: 200} {
		e := newKafka()
		now := e.clock.start.Add(time.Minute)
		give(t, e, "ip=10.1.2.3", kafka.ConnectionCreationRate, limit)
		for i := range burst {
			if a := e.Admit("PLAINTEXT", peer, now); a.Refused || a.Wait != 0 {
				t.Fatalf("limit %g: connection %d: %+v", limit, i, a)
			}
		}
		for range 1000 { // a storm does not push anybody farther away
			a := e.Admit("PLAINTEXT", peer, now)
			if want := time.Duration(1e9 / limit); !a.Refused || a.Wait < want-2*time.Millisecond || a.Wait > min(want+2*time.Millisecond, time.Second) {
				t.Fatalf("limit %g: %+v", limit, a)
			}
		}
		if a := e.Admit("PLAINTEXT", peer, now.Add(time.Duration(1e9/limit))); a.Refused {
			t.Errorf("limit %g: refused after the wait", limit)
		}
		if a := e.Admit("PLAINTEXT", netip.MustParseAddr("10.1.2.4"), now); a.Refused {
			t.Error("another address is refused")
		}
	}
}

// TestIPRate: an attempt every 10 ms for a minute at 5 a second. The bucket
// gives its burst and the rate; Kafka's window gives 300, the burst included.
func TestIPRate(t *testing.T) {
	e := newKafka()
	begin := e.clock.start.Add(time.Minute)
	give(t, e, "ip", kafka.ConnectionCreationRate, 5)
	accepted := 0
	for i := range 6000 {
		if !e.Admit("L", peer, begin.Add(time.Duration(i)*10*time.Millisecond)).Refused {
			accepted++
		}
	}
	if accepted < 349 || accepted > 350 {
		t.Errorf("%d were accepted, want 50 and 5 a second", accepted)
	}
}

// TestAcceptRates: the broker's and the listener's rate make the acceptor
// pause, by the longer of the two, and T40: what an ip quota refuses counts for
// neither.
func TestAcceptRates(t *testing.T) {
	e := newKafka()
	now := e.clock.start.Add(time.Minute)
	e.SetConnectionRates(2, map[string]float64{"slow": 1, "Free": 2147483647, "none": 0})
	for i := range 10 {
		if a := e.Admit("SLOW", peer, now); a != (Admission{}) {
			t.Fatalf("connection %d: %+v", i, a)
		}
	}
	if a := e.Admit("slow", peer, now); a != (Admission{Wait: time.Second}) {
		t.Errorf("the listener's rate: %+v", a)
	}
	for i := range 9 {
		if a := e.Admit("free", peer, now); a != (Admission{}) {
			t.Fatalf("connection %d: %+v", i, a)
		}
	}
	if a := e.Admit("free", peer, now); a != (Admission{Wait: 500 * time.Millisecond}) {
		t.Errorf("the broker's rate: %+v", a)
	}
	give(t, e, "ip=10.1.2.3", kafka.ConnectionCreationRate, 1)
	for range 10 {
		e.Admit("other", peer, now)
	}
	before := e.gates.broker.word.Load()
	for range 100 {
		if a := e.Admit("other", peer, now); !a.Refused {
			t.Fatalf("%+v", a)
		}
	}
	if got := e.gates.broker.word.Load(); got != before {
		t.Errorf("refused connections took %d ticks of the broker's rate", got-before)
	}
	e.SetConnectionRates(0, nil)
	if a := e.Admit("slow", netip.MustParseAddr("::1"), now); a != (Admission{}) {
		t.Errorf("without rates: %+v", a)
	}
	// However long a storm lasts, what it owes is paid within the window.
	e.SetConnectionRates(1, nil)
	for range 1000 {
		if a := e.Admit("x", netip.MustParseAddr("::1"), now); a.Refused || a.Wait > time.Second {
			t.Fatalf("in a storm: %+v", a)
		}
	}
	if a := e.Admit("x", netip.MustParseAddr("::1"), now.Add(12*time.Second)); a != (Admission{}) {
		t.Errorf("12 s after a storm: %+v", a)
	}
}

// TestAcceptRatesOverLife: another rate keeps what is owed, one that goes and comes
// back begins with a full bucket.
func TestAcceptRatesOverLife(t *testing.T) {
	for name, rates := range map[string]func(e *Enforcer, v float64){
		"broker":   func(e *Enforcer, v float64) { e.SetConnectionRates(v, nil) },
		"listener": func(e *Enforcer, v float64) { e.SetConnectionRates(0, map[string]float64{"L": v}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newKafka()
				waits := func(n int, want time.Duration) {
					t.Helper()
					var last Admission
					for range n {
						last = e.Admit("L", peer, time.Now())
					}
					if off := (last.Wait - want).Abs(); last.Refused || off > time.Microsecond {
						t.Errorf("the last of %d: %+v, want %v", n, last, want)
					}
				}
				rates(e, 100)
				waits(1050, 500*time.Millisecond)
				rates(e, 200)
				waits(1, 255*time.Millisecond)
				rates(e, 0)
				waits(10, 0)
				rates(e, 100)
				waits(1000, 0)
				waits(1, 10*time.Millisecond)
			})
		})
	}
}

// TestIPQuotaOverLife: a connection is judged by the limit of the moment, and
// the address keeps its bucket when the limit changes.
func TestIPQuotaOverLife(t *testing.T) {
	e, key := newKafka(), kafka.ConnectionCreationRate
	now := e.clock.start.Add(time.Minute)
	refused := func() int {
		n := 0
		for range 50 {
			if e.Admit("L", peer, now).Refused {
				n++
			}
		}
		return n
	}
	giveAt(t, e, now, "ip", key, 2)
	if got := refused(); got != 30 {
		t.Errorf("the default: %d refused, want 30", got)
	}
	giveAt(t, e, now, "ip=10.1.2.3", key, 4)
	if got := refused(); got != 50 {
		t.Errorf("raised by a setting of its own: %d refused, want all: the bucket is empty", got)
	}
	now = now.Add(5 * time.Second)
	if got := refused(); got != 30 {
		t.Errorf("5 s later: %d refused, want 30", got)
	}
	giveAt(t, e, now, "ip=10.1.2.3", key, 0)
	now = now.Add(5 * time.Second)
	if got := refused(); got != 40 {
		t.Errorf("back at the default: %d refused, want 40", got)
	}
	giveAt(t, e, now, "ip", key, 0)
	if got := refused(); got != 0 {
		t.Errorf("without a quota: %d refused", got)
	}
}

// TestUserModelAdmits: rates are Kafka's, ip quotas are not of the user model.
func TestUserModelAdmits(t *testing.T) {
	e := newEnforcer()
	now := e.clock.start.Add(time.Minute)
	e.SetConnectionRates(1, nil)
	for range 10 {
		e.Admit("L", peer, now)
	}
	if a := e.Admit("L", peer, now); a.Refused || a.Wait != time.Second {
		t.Errorf("%+v", a)
	}
	if _, err := e.ResolveAddress("1.2.3.4"); err != nil {
		t.Error(err)
	}
}

// TestManyAddresses: under a default an address cannot be minted without end.
func TestManyAddresses(t *testing.T) {
	e := newKafka()
	now := e.clock.start.Add(time.Minute)
	give(t, e, "ip", kafka.ConnectionCreationRate, 1)
	for i := range uint32(maxUnnamed + 1000) {
		e.Admit("L", netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}), now)
	}
	if got := len(e.accounts.all); got != maxUnnamed+1 {
		t.Errorf("%d accounts", got)
	}
	if a := e.Admit("L", netip.MustParseAddr("200.1.1.1"), now); !a.Refused {
		t.Error("addresses beyond the bound do not share a bucket")
	}
	e.lookup = resolveHosts
	give(t, e, "ip=six.example", kafka.ConnectionCreationRate, 1)
	for range 10 {
		if a := e.Admit("L", netip.MustParseAddr("fe80::2"), now); a.Refused {
			t.Fatal("an address with a setting has no bucket of its own")
		}
	}
	if a := e.Admit("L", netip.MustParseAddr("fe80::2%eth0"), now); !a.Refused {
		t.Error("an address with a setting has no limit")
	}
}

// TestAdmitTogether: connections that come in the same moment do not pass
// twice, with alterations on the way.
func TestAdmitTogether(t *testing.T) {
	e := New(KafkaModel(DefaultWindows()), DefaultOptions(), zap.NewNop(), nil)
	now := e.clock.start.Add(time.Minute)
	giveAt(t, e, now, "ip=10.1.2.3", kafka.ConnectionCreationRate, 20)
	var all sync.WaitGroup
	var mu sync.Mutex
	accepted := 0
	for range 8 {
		all.Go(func() {
			for range 100 {
				e.Admit("L", netip.MustParseAddr("10.9.9.9"), now)
				if !e.Admit("L", peer, now).Refused {
					mu.Lock()
					accepted++
					mu.Unlock()
				}
			}
		})
	}
	for i := range 50 {
		giveAt(t, e, now, "ip=10.9.9.9", kafka.ConnectionCreationRate, float64(i+1))
		e.SetConnectionRates(float64(i+1e6), nil)
	}
	all.Wait()
	if accepted != 200 {
		t.Errorf("%d were accepted, want 200", accepted)
	}
}
