package handlers

import (
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// joined is what a connection has asked for already under a client id. With
// another one it is a new connection: it may pay from other buckets.
type joined struct {
	clientID                    string // its first bytes, if it is long
	anything, produce, mutation bool
}

// once sets a mark and says whether it was not set before.
func once(mark *bool) bool {
	first := !*mark
	*mark = true
	return first
}

// join asks the quotas that a frame is charged to whether a new connection may
// join their debt. It gives the longer mute of those that say no. What is refused
// in debt, fetches and the newer mutations, needs not be held.
func (s *session) join(key kafka.APIKey, version int16, head []byte) *quota.Mute {
	if clientID, _ := codec.PeekClientID(head); string(clientID) != s.joined.clientID {
		s.joined = joined{clientID: string(clientID)}
	}
	var longest *quota.Mute
	ask := func(k quota.Kind) {
		now := time.Now()
		longest = longer(longest, s.quotaClient(s.joined.clientID).Join(k, now), now)
	}
	if s.h.Quotas.HasRequestQuotas() && once(&s.joined.anything) {
		ask(quota.Request)
	}
	if key == kafka.KeyProduce && once(&s.joined.produce) {
		ask(quota.Produce)
	}
	if strict, ok := strictMutation[key]; ok && version < strict && once(&s.joined.mutation) {
		ask(quota.Mutation)
	}
	return longest
}

// longer is the mute that lasts longer, and ends the other.
func longer(a, b *quota.Mute, now time.Time) *quota.Mute {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.Remaining(now) < b.Remaining(now):
		a, b = b, a
	}
	b.Done()
	return a
}
