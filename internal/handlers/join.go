package handlers

import (
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// joined is what a connection has asked for already.
type joined struct{ anything, produce, mutation bool }

// once sets a mark and says whether it was not set before.
func once(mark *bool) bool {
	first := !*mark
	*mark = true
	return first
}

// join asks the quotas that a frame is charged to whether a new connection may
// join their debt. It gives the longer mute of those that say no.
func (s *session) join(key kafka.APIKey, version int16, head []byte) *quota.Mute {
	now := time.Now()
	var longest *quota.Mute
	ask := func(k quota.Kind) {
		clientID, _ := codec.PeekClientID(head) // of a long one its beginning, which is who pays
		longest = longer(longest, s.quotaClient(clientID).Join(k, now), now)
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
