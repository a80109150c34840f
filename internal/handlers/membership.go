package handlers

import (
	"slices"
	"time"

	"kaasd/internal/group"
	"kaasd/internal/quota"
	"kaasd/internal/server"
)

// membership is a member of a group that speaks on a connection.
type membership struct{ group, member string }

// What a connection remembers of its members: so many, those that spoke last, with
// names of so many bytes together. A client has one for each group that it is in.
const (
	maxMemberships = 64
	maxMemberBytes = 1 << 10
)

// speaksFor notes that a member has spoken on the connection.
func (s *session) speaksFor(group, member string) {
	if member == "" || len(group)+len(member) > maxMemberBytes {
		return
	}
	m := membership{group, member}
	if at := slices.Index(s.members, m); at >= 0 {
		s.members = slices.Delete(s.members, at, at+1)
	} else if len(s.members) == maxMemberships {
		s.members = slices.Delete(s.members, 0, 1)
	}
	s.members = append(s.members, m)
}

// hold makes the mute of a connection one that stops the sessions of the members
// that speak on it: they cannot say that they are alive while nobody listens.
func (s *session) hold(m *quota.Mute) server.Mute {
	if len(s.members) == 0 {
		return m
	}
	now := time.Now()
	wait := m.Remaining(now)
	held := &heldMute{Mute: m}
	s.members = slices.DeleteFunc(s.members, func(of membership) bool {
		h := s.h.Groups.Hold(now, of.group, of.member, wait)
		if h != nil {
			held.holds = append(held.holds, h)
		}
		return h == nil // it is a member no longer
	})
	if len(held.holds) == 0 {
		return m
	}
	return held
}

// heldMute is a mute with what ends with it.
type heldMute struct {
	*quota.Mute
	holds []*group.Hold
}

// Done ends the mute, then the holds.
func (m *heldMute) Done() {
	m.Mute.Done()
	now := time.Now()
	for _, h := range m.holds {
		h.Release(now)
	}
	m.holds = nil
}
