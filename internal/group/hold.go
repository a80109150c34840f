package group

import (
	"time"

	"go.uber.org/zap"
)

// Hold keeps a member's session from running out while the broker itself does
// not read the connection that the member speaks on.
type Hold struct {
	coordinator *Coordinator
	group       *group
	id          string // of the life that is held: a static member may be started again
}

// Hold stops the session of a member whose connection is not going to be read
// for about so long; nil: there is no such member. A wait longer than the session
// is told in the log, once for each group: the member stays, but its client may
// give up.
func (c *Coordinator) Hold(now time.Time, name, memberID string, wait time.Duration) *Hold {
	var h *Hold
	c.with(name, false, now, func(g *group) {
		m := g.members[memberID]
		if m == nil {
			return
		}
		h = &Hold{coordinator: c, group: g, id: m.id}
		g.hold(now, m)
		if wait > m.session && !g.outwaited && c.told.over(now) {
			g.outwaited = true
			c.tellOutwaited(g, m, wait)
		}
	})
	return h
}

// Release lets the session go on where it was stopped; once.
func (h *Hold) Release(now time.Time) {
	h.coordinator.own(h.group, now, func(g *group) {
		if m := g.members[h.id]; m != nil {
			g.release(now, m)
		}
	})
}

// hold stops a member's session.
func (g *machine) hold(now time.Time, m *member) {
	if m.holds == 0 {
		m.heldAt = now
	}
	m.holds++
}

// release ends one hold. After the last one the session has as long as it had
// when it was stopped, or when the member was last heard of since.
func (g *machine) release(now time.Time, m *member) {
	m.holds--
	if m.holds == 0 {
		m.deadline = m.deadline.Add(now.Sub(m.heldAt))
		g.arm(m.deadline)
	}
}

func (c *Coordinator) tellOutwaited(g *group, m *member, wait time.Duration) {
	c.logger.Warn("a throttle is longer than the session timeout of a group whose member shares the throttled connection: "+
		"it stays a member, but its client may give up; raise the quota",
		zap.String("group", g.name), zap.String("member", m.id), zap.String("client_id", m.clientID), zap.String("host", m.host),
		zap.Duration("throttle", wait), zap.Duration("session.timeout", m.session))
}
