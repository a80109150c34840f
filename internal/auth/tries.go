package auth

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// The limits on failed log-ins, which come back evenly over triesWindow. A
// client with an old password, tried again and again, must not keep its
// neighbours out: they fall under the limit of their own names, which is the
// lower one.
const (
	userTries    = 20  // of one name, from one address
	addressTries = 200 // from one address
	triesWindow  = time.Minute
	maxTried     = 8192 // addresses, and names at addresses, remembered
	tellEvery    = 10 * time.Second
)

// Tries remembers failed log-ins by where they come from, so that passwords
// cannot be guessed by trying. Nobody is locked out: what is held back is one
// address, never a user. An IPv6 address stands for its /64 network. A
// success forgets the failures of its name at its address.
type Tries struct {
	seed maphash.Seed

	mu     sync.Mutex
	failed map[tried]*tally // at most maxTried
}

// tried is an address, and a name unless user is 0.
type tried struct {
	network netip.Prefix
	user    uint64
}

// tally is a count of failures as it was at some time. It shrinks by the limit in
// each triesWindow.
type tally struct {
	count  float64
	at     time.Time
	told   time.Time
	untold int
}

// NewTries remembers nothing yet.
func NewTries() *Tries { return &Tries{seed: maphash.MakeSeed(), failed: map[tried]*tally{}} }

// Wait is how long it takes until a log-in of the user from the host is looked at
// again; 0 is now. A host that is no address is not limited.
func (t *Tries) Wait(host, user string, now time.Time) time.Duration {
	all, own, ok := t.keys(host, user)
	if !ok {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.failed[all].wait(addressTries, now), t.failed[own].wait(userTries, now))
}

// Fail counts a failed log-in; the user is "" where none was named. tell says
// whether this one is to be told of: one for each address in ten seconds is.
// untold is how many were not since then.
func (t *Tries) Fail(host, user string, now time.Time) (tell bool, untold int) {
	all, own, ok := t.keys(host, user)
	if !ok {
		return true, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if user != "" {
		t.entry(own, now).add(userTries, now)
	}
	a := t.entry(all, now)
	a.add(addressTries, now)
	return a.tell(now)
}

// Hush says whether a log-in that was refused unseen is to be told of.
func (t *Tries) Hush(host string, now time.Time) (tell bool, untold int) {
	all, _, ok := t.keys(host, "")
	if !ok {
		return true, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entry(all, now).tell(now)
}

// Succeed forgets the failures of the user at the host.
func (t *Tries) Succeed(host, user string) {
	_, own, ok := t.keys(host, user)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failed, own)
}

func (t *Tries) keys(host, user string) (all, own tried, ok bool) {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return all, own, false
	}
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	network, err := addr.Prefix(bits)
	// A user whose hash is 0 would be the address itself.
	return tried{network, 0}, tried{network, maphash.String(t.seed, user) | 1}, err == nil
}

// entry is the tally of a key, in the place of another one when there are too
// many.
func (t *Tries) entry(k tried, now time.Time) *tally {
	e := t.failed[k]
	if e == nil {
		if len(t.failed) >= maxTried {
			t.evict(now)
		}
		e = &tally{at: now}
		t.failed[k] = e
	}
	return e
}

// evict forgets the least of a few: looking at all of them is what a flood from
// many addresses would make expensive.
func (t *Tries) evict(now time.Time) {
	const looked = 8
	var least tried
	low, n := 0.0, 0
	for k, e := range t.failed {
		if count := e.left(limitOf(k), now); n == 0 || count < low {
			least, low = k, count
		}
		if n++; n == looked {
			break
		}
	}
	delete(t.failed, least)
}

func limitOf(k tried) float64 {
	if k.user == 0 {
		return addressTries
	}
	return userTries
}

// left is the count by now.
func (e *tally) left(limit float64, now time.Time) float64 {
	return max(0, e.count-limit*now.Sub(e.at).Seconds()/triesWindow.Seconds())
}

func (e *tally) add(limit float64, now time.Time) {
	e.count, e.at = e.left(limit, now)+1, now
}

// wait is how long it takes until there is room for one more failure; a nil
// tally has room.
func (e *tally) wait(limit float64, now time.Time) time.Duration {
	if e == nil {
		return 0
	}
	over := e.left(limit, now) + 1 - limit
	if over <= 0 {
		return 0
	}
	return time.Duration(over / limit * float64(triesWindow))
}

func (e *tally) tell(now time.Time) (tell bool, untold int) {
	if !e.told.IsZero() && now.Sub(e.told) < tellEvery {
		e.untold++
		return false, 0
	}
	untold = e.untold
	e.told, e.untold = now, 0
	return true, untold
}
