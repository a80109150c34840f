package admin

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"sync/atomic"
)

// visitor is a connection with the password that it has shown. Who has the right
// one has nothing to guess, so that a scrape goes on while somebody else fails at
// its address. Another password ends that: behind a proxy a connection may be of
// several clients.
type visitor struct {
	key atomic.Pointer[[sha256.Size]byte]
}

type visitorKey struct{}

// greet gives requests the visitor that they are of.
func greet(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, visitorKey{}, new(visitor))
}

// shown is the visitor that a request is of.
func shown(r *http.Request) *visitor {
	if v, ok := r.Context().Value(visitorKey{}).(*visitor); ok {
		return v
	}
	return new(visitor)
}

// again says whether the password is the one that was shown before.
func (v *visitor) again(key [sha256.Size]byte) bool {
	before := v.key.Load()
	if before == nil {
		return false
	}
	if *before != key {
		v.key.Store(nil)
		return false
	}
	return true
}

func (v *visitor) keep(key [sha256.Size]byte) { v.key.Store(&key) }
