package quota

import (
	"time"

	"kaasd/internal/kafka"
)

// maxUnnamed is how many accounts there may be that no setting names. Clients
// choose their client ids, and a default gives each one a bucket; beyond the
// bound they share the bucket of the default entity itself.
const maxUnnamed = 100_000

// find looks up the buckets a client pays from, and says whether all that it
// needs are there. Where no setting limits it, a bucket that had a limit
// before goes on counting. The caller holds mu.
func (e *Enforcer) find(user, clientID string, buckets *[kinds]*bucket) (complete bool) {
	complete = true
	for k, by := range e.decide(user, clientID) {
		if by == nil {
			buckets[k] = e.left(user, clientID, Kind(k))
			continue
		}
		a := by
		if l := &e.model.levels[by.level]; !l.own() {
			a = e.accounts.get(l.owner.of(user, clientID))
		}
		buckets[k] = nil
		if a != nil {
			buckets[k] = a.buckets[k]
		}
		complete = complete && buckets[k] != nil
	}
	return complete
}

// left is a bucket from the time when the client had a limit, or nil.
func (e *Enforcer) left(user, clientID string, k Kind) *bucket {
	if e.meters[k].buckets == 0 {
		return nil
	}
	for _, s := range []shape{ofPair, ofUser, ofClient} {
		if a := e.accounts.get(s.of(user, clientID)); a != nil && a.buckets[k] != nil {
			return a.buckets[k]
		}
	}
	return nil
}

// bind is find for a client that may come for the first time: buckets that
// are missing are made.
func (e *Enforcer) bind(user, clientID string) (buckets [kinds]*bucket) {
	e.mu.RLock()
	complete := e.find(user, clientID, &buckets)
	e.mu.RUnlock()
	if complete {
		return buckets
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, by := range e.decide(user, clientID) {
		if by != nil {
			buckets[k] = e.need(e.model.payer(by, user, clientID), by, Kind(k))
		}
	}
	return buckets
}

// need is the bucket of an owner, made if it is not there; of the entity by
// which the owner has its limit when there is no room. The caller holds mu.
func (e *Enforcer) need(owner kafka.Entity, by *account, k Kind) *bucket {
	a := e.accounts.get(owner)
	if a == nil {
		if e.accounts.unnamed() < maxUnnamed || !hasDefault(by.owner) {
			a = e.accounts.open(owner, e.model.levelOf(owner))
		} else {
			a = by
			a.series.folded = k != Connection
		}
	}
	if a.buckets[k] == nil {
		e.rate(a, k, e.ticksOf(time.Now()))
	}
	return a.buckets[k]
}

// rate gives the bucket of an account the limit that is in force for it, and
// makes the bucket if it is not there. The caller holds mu.
func (e *Enforcer) rate(a *account, k Kind, now int64) {
	rule := e.model.rules[k]
	b := a.buckets[k]
	if b == nil {
		b = newBucket(e.meters[k], rule, now)
		// It has been full for a while: the request that it is made for may have
		// been there before.
		defer b.word.Add(-int64(time.Minute) << tickShift)
		a.buckets[k] = b
		e.meters[k].buckets++
	}
	by := e.judge(a.owner, k)
	if by == nil {
		b.setLimit(unlimited, rule, now)
		return
	}
	b.setLimit(by.limits[k], rule, now)
	b.setLevel(by.level)
}
