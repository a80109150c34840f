package quota

import (
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Admission is what becomes of a new connection. One that is refused is held
// unread for Wait and closed; else the acceptor pauses for Wait, and serves it.
type Admission struct {
	Wait    time.Duration
	Refused bool
}

// longestHold is the longest Wait of an Admission.
const longestHold = time.Second

// Admit judges a connection that peer has just opened on a listener (KIP-612).
// One that the quota of its address refuses takes nothing from any rate.
func (e *Enforcer) Admit(listener string, peer netip.Addr, now time.Time) Admission {
	at := e.ticksOf(now)
	if wait := e.admitAddress(canonical(peer), at); wait > 0 {
		return Admission{Wait: hold(wait), Refused: true}
	}
	return Admission{Wait: hold(e.gates.pass(listener, at))}
}

func hold(ticks int64) time.Duration {
	return min(time.Duration((ticks+tick-1)>>tickShift), longestHold)
}

// admitAddress takes a connection from the bucket of its address, or says in
// how many ticks there would be one.
func (e *Enforcer) admitAddress(peer netip.Addr, now int64) int64 {
	b := e.addressBucket(peer)
	if b == nil {
		e.meters[Connection].free(1)
		return 0
	}
	t, ok := b.takeUnless(msTicks, 1, 1, now)
	if ok {
		return 0
	}
	b.announce(t)
	e.refused.Add(1)
	return t.owed - now
}

// addressBucket is the bucket of an address that has a limit, or nil.
func (e *Enforcer) addressBucket(peer netip.Addr) *bucket {
	e.mu.RLock()
	b, known := e.findAddress(peer)
	e.mu.RUnlock()
	if known {
		return b
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	by := e.decideAddress(peer)
	if by == nil {
		return nil
	}
	return e.need(addressEntity(peer), by, Connection)
}

// findAddress looks up the bucket of an address, and says whether it is there
// or not needed. The caller holds mu.
func (e *Enforcer) findAddress(peer netip.Addr) (b *bucket, known bool) {
	by := e.decideAddress(peer)
	if by == nil || by.limits[Connection] == unlimited {
		return nil, true
	}
	if a := e.accounts.get(addressEntity(peer)); a != nil {
		b = a.buckets[Connection]
	}
	return b, b != nil
}

// gates are the rates at which the broker and its listeners accept.
type gates struct {
	meter     *meter
	mu        sync.RWMutex
	broker    *bucket
	listeners map[string]*bucket // by name in lower case
}

// gateRule is a burst of what Kafka's window lets pass. An acceptor never
// pauses for longer than a second, so its debt has an end too.
var gateRule = rule{burst: 10 * time.Second, deepest: 11 * time.Second}

// SetConnectionRates sets how many connections a second the broker and each
// listener accept; 0 and 2147483647 are no limit. A changed rate keeps what is
// owed.
func (e *Enforcer) SetConnectionRates(broker float64, listeners map[string]float64) {
	now := e.ticksOf(time.Now())
	g := &e.gates
	g.mu.Lock()
	defer g.mu.Unlock()
	g.broker = g.rated(g.broker, broker, now)
	next := make(map[string]*bucket, len(listeners))
	for name, rate := range listeners {
		name = strings.ToLower(name)
		if b := g.rated(g.listeners[name], rate, now); b != nil {
			next[name] = b
		}
	}
	g.listeners = next
}

func (g *gates) rated(b *bucket, rate float64, now int64) *bucket {
	if rate <= 0 || rate >= maxInt {
		return nil
	}
	if b == nil {
		b = newBucket(g.meter, gateRule, now)
	}
	b.setLimit(rate, gateRule, now)
	return b
}

// pass charges a connection to the broker and its listener, and says for how
// many ticks the acceptor is to pause.
func (g *gates) pass(listener string, now int64) int64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.broker == nil && len(g.listeners) == 0 {
		return 0
	}
	wait := int64(0)
	for _, b := range []*bucket{g.broker, g.listeners[strings.ToLower(listener)]} {
		if b != nil {
			wait = max(wait, b.charge(1, now).wait())
		}
	}
	return wait
}
