package quota

import (
	"hash/maphash"
	"sync"

	"kaasd/internal/kafka"
)

// account is the buckets of one owner.
type account struct {
	buckets [kinds]bucket // first, so that they lie on whole cache lines
	owner   kafka.Entity
	series  series
	history [kinds]*history // guarded by the Enforcer's mu
}

// shards is a power of two.
const shards = 64

// accounts is the table of those who are accounted for.
type accounts struct {
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu     sync.RWMutex
	owners map[kafka.Entity]*account
}

func newAccounts() *accounts {
	t := &accounts{seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].owners = map[kafka.Entity]*account{}
	}
	return t
}

func (t *accounts) shard(owner kafka.Entity) *shard {
	h := maphash.String(t.seed, owner.User.Name) ^ maphash.String(t.seed, owner.ClientID.Name)<<1
	return &t.shards[h%shards]
}

// get is the account of owner, or nil.
func (t *accounts) get(owner kafka.Entity) *account {
	s := t.shard(owner)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.owners[owner]
}

func (t *accounts) put(a *account) {
	s := t.shard(a.owner)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners[a.owner] = a
}

// each calls f for every account; f must not call the table.
func (t *accounts) each(f func(*account)) {
	for i := range t.shards {
		t.shards[i].each(f)
	}
}

func (s *shard) each(f func(*account)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, a := range s.owners {
		f(a)
	}
}
