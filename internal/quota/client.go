package quota

import (
	"sync"
	"sync/atomic"
	"time"
)

// Client is a connection's handle on the buckets it is charged to. Charge may
// be called together with everything; Take and Settle belong to the
// connection's goroutine.
type Client struct {
	enforcer *Enforcer
	clock    clock // the enforcer's, at hand
	// generation is the one of the table that the buckets are of. It is
	// stored after them.
	generation atomic.Uint64
	buckets    [kinds]atomic.Pointer[bucket] // nil: no quota
	turn       turn                          // of the connection's fetches

	user, clientID string
	mu             sync.Mutex // binds one at a time
}

// Client is the handle for a connection that speaks for user with that
// client id; a null client id is the empty one.
func (e *Enforcer) Client(user, clientID string) *Client {
	c := &Client{enforcer: e, clock: e.clock, user: user, clientID: clientID}
	c.bind()
	return c
}

// Charge takes units, bytes of Produce and Fetch, from the balance, which may go
// below zero, and gives the throttle that pays the whole debt.
func (c *Client) Charge(k Kind, n int, now time.Time) Throttle {
	b := c.bucket(k)
	if b == nil {
		return c.enforcer.meters[k].free(n)
	}
	return b.charge(n, c.clock.ticks(now))
}

// Take asks for up to want bytes to hand out. It takes at most what the
// balance holds, in one step, so that the connections that ask in the same
// moment do not all get the whole of it.
func (c *Client) Take(k Kind, want int, now time.Time) Grant {
	g := Grant{Bytes: max(want, 0)}
	if b := c.bucket(k); b != nil {
		g = b.take(&c.turn, g.Bytes, c.clock.ticks(now))
	}
	g.client, g.kind = c, k
	return g
}

func (c *Client) bucket(k Kind) *bucket {
	if c.generation.Load() != c.enforcer.generation.Load() {
		c.bind()
	}
	return c.buckets[k].Load()
}

// bind finds the client's buckets as of the current generation.
func (c *Client) bind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	generation := c.enforcer.generation.Load()
	buckets := c.enforcer.bind(c.user, c.clientID)
	for k, b := range buckets {
		c.buckets[k].Store(b)
	}
	c.generation.Store(generation)
}
