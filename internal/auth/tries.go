package auth

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"kaasd/internal/kafka"
)

// The limits on failed log-ins, which come back evenly over triesWindow. A
// client with an old password, tried again and again, must not keep its
// neighbours out: they fall under the limit of their own names, which is the
// lower one.
const (
	userTries    = 20  // of one name, from one address
	friendTries  = 200 // of one name that is a friend, from one address; a success does not forget them
	triesWindow  = time.Minute
	maxTried     = 8192 // addresses, and names at addresses, remembered
	maxFriends   = 8192 // names that have logged in from an address
	friendship   = 24 * time.Hour
	tellEvery    = 10 * time.Second
	evictionLook = 8
)

// AddressTries is how many log-ins from one address may fail in a minute where
// nothing else is said.
const AddressTries = 200

// Tries remembers failed log-ins by where they come from, so that passwords
// cannot be guessed by trying. Nobody is locked out: what is held back is one
// address, never a user. An IPv6 address stands for its /64 network. A
// success forgets the failures of its name at its address.
//
// Many clients may share an address, behind a load balancer. So a name that has
// logged in from there within a day, a friend, is not held by what others fail:
// it has a limit for itself. Friends must not be a way round the limits, nor to
// find out who has an account:
//
//   - Who waits for a friend's success, which forgets 20 failures, to go on
//     guessing that name is stopped by friendTries.
//   - Where an address is held back, a friend's failure must be answered as any
//     other name's that is refused unseen (Fail says so), and both weigh the
//     same: on the name, and not on the address.
//   - Friends are of those alone who know a password, and stand in a table of
//     their own: failures drive nobody out of it.
type Tries struct {
	seed       maphash.Seed
	perAddress float64 // 0: no limit

	mu      sync.Mutex
	failed  map[tried]*tally  // at most maxTried
	friends map[tried]*friend // at most maxFriends
}

// tried is an address, and a name unless user is 0.
type tried struct {
	network netip.Prefix
	user    uint64
}

// friend is a name that has logged in from an address.
type friend struct {
	last   time.Time // that it did
	failed tally
}

// tally is a count of failures as it was at some time. It shrinks by the limit in
// each triesWindow.
type tally struct {
	count  float64
	at     time.Time
	told   time.Time
	untold int
}

// NewTries remembers nothing yet. perAddress is how many log-ins from one address
// may fail in a minute, of whichever names; 0 is no limit.
func NewTries(perAddress int) *Tries {
	return &Tries{seed: maphash.MakeSeed(), perAddress: float64(perAddress), failed: map[tried]*tally{}, friends: map[tried]*friend{}}
}

// Wait is how long it takes until a log-in of the user from the host is looked at
// again; 0 is now. A host that is no address is not limited.
func (t *Tries) Wait(host, user string, now time.Time) time.Duration {
	all, own, ok := t.keys(host, user)
	if !ok {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.failed[own].wait(userTries, now)
	if f := t.friend(own, now); f != nil {
		return max(wait, f.failed.wait(friendTries, now))
	}
	return max(wait, t.held(all, now))
}

// Held is how long it takes until names that have not logged in from the host lately
// are looked at again; 0 is now.
func (t *Tries) Held(host string, now time.Time) time.Duration {
	all, _, ok := t.keys(host, "")
	if !ok {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held(all, now)
}

// Fail counts a log-in that was looked at and failed; the user is "" where none
// was named. Where the address is held back meanwhile, wait is for how long, and
// the answer has to be that of a log-in that is refused unseen. tell says whether
// this one is to be told of: one for each address in ten seconds is. untold is
// how many were not since then.
func (t *Tries) Fail(host, user string, now time.Time) (wait time.Duration, tell bool, untold int) {
	all, own, ok := t.keys(host, user)
	if !ok {
		return 0, true, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if user != "" {
		t.entry(own, now).add(userTries, now)
	}
	if f := t.friend(own, now); f != nil {
		f.failed.add(friendTries, now)
	}
	wait = t.held(all, now)
	a := t.entry(all, now)
	a.add(t.perAddress, now)
	tell, untold = a.tell(now)
	return wait, tell, untold
}

// Refuse counts a log-in that was refused unseen, and says whether it is to be told
// of.
func (t *Tries) Refuse(host, user string, now time.Time) (tell bool, untold int) {
	all, own, ok := t.keys(host, user)
	if !ok {
		return true, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if user != "" {
		t.entry(own, now).add(userTries, now)
	}
	return t.entry(all, now).tell(now)
}

// Succeed forgets the failures of the user at the host, and makes them friends.
func (t *Tries) Succeed(host, user string, now time.Time) {
	_, own, ok := t.keys(host, user)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failed, own)
	f := t.friends[own]
	if f == nil {
		if len(t.friends) >= maxFriends {
			forget(t.friends, func(_ tried, f *friend) float64 { return float64(f.last.UnixNano()) })
		}
		f = &friend{}
		t.friends[own] = f
	}
	f.last = now
}

// friend is what is known of a name that has logged in lately; nil: it has not.
func (t *Tries) friend(own tried, now time.Time) *friend {
	f := t.friends[own]
	if f != nil && now.Sub(f.last) > friendship {
		delete(t.friends, own)
		return nil
	}
	return f
}

// held is for how long names that are no friends are held back at an address.
func (t *Tries) held(all tried, now time.Time) time.Duration {
	if t.perAddress <= 0 {
		return 0
	}
	return t.failed[all].wait(t.perAddress, now)
}

func (t *Tries) keys(host, user string) (all, own tried, ok bool) {
	addr, err := netip.ParseAddr(host)
	network := kafka.Network(addr)
	// A user whose hash is 0 would be the address itself.
	return tried{network, 0}, tried{network, maphash.String(t.seed, user) | 1}, err == nil
}

// entry is the tally of a key, in the place of another one when there are too
// many.
func (t *Tries) entry(k tried, now time.Time) *tally {
	e := t.failed[k]
	if e == nil {
		if len(t.failed) >= maxTried {
			forget(t.failed, func(k tried, e *tally) float64 { return e.left(t.limitOf(k), now) })
		}
		e = &tally{at: now}
		t.failed[k] = e
	}
	return e
}

// forget takes the least of a few away: looking at all of them is what a flood
// from many addresses would make expensive.
func forget[V any](table map[tried]V, weigh func(tried, V) float64) {
	var least tried
	low, n := 0.0, 0
	for k, v := range table {
		if weight := weigh(k, v); n == 0 || weight < low {
			least, low = k, weight
		}
		if n++; n == evictionLook {
			break
		}
	}
	delete(table, least)
}

func (t *Tries) limitOf(k tried) float64 {
	if k.user == 0 {
		return t.perAddress
	}
	return userTries
}

// left is the count by now.
func (e *tally) left(limit float64, now time.Time) float64 {
	return max(0, e.count-limit*now.Sub(e.at).Seconds()/triesWindow.Seconds())
}

// add counts a failure where there is room: tokens that are no proof fail without
// asking whether there is, and must not hold back whom they name for hours.
func (e *tally) add(limit float64, now time.Time) {
	if limit > 0 && e.wait(limit, now) == 0 {
		e.count, e.at = e.left(limit, now)+1, now
	}
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
