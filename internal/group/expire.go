package group

import "time"

// expire does what the time calls for: sessions end, promised ids lapse, a
// rebalance is over, members that never synced are out.
func (g *machine) expire(now time.Time) {
	passed := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	for id, until := range g.pending {
		if passed(until) {
			g.forget(id)
		}
	}
	g.dismissAll(now, func(m *member) bool {
		end, running := m.expires()
		return running && passed(end)
	})
	if passed(g.syncBy) {
		g.syncBy = time.Time{}
		g.dismissAll(now, func(m *member) bool { return !m.synced })
	}
	g.look(now)
	g.rearm()
}

// dismissAll removes the members of whom it is said, and follows that up
// once.
func (g *machine) dismissAll(now time.Time, out func(*member) bool) {
	gone := false
	for _, m := range append([]*member(nil), g.inOrder...) {
		if out(m) {
			g.remove(m, errUnknown)
			gone = true
		}
	}
	if gone {
		g.depart(now)
	}
}

// rearm finds the exact moment to be woken.
func (g *machine) rearm() {
	g.due = time.Time{}
	for _, until := range g.pending {
		g.arm(until)
	}
	for _, m := range g.inOrder {
		if end, running := m.expires(); running {
			g.arm(end)
		}
	}
	if g.state == PreparingRebalance {
		g.arm(g.deadline)
	}
	if !g.syncBy.IsZero() {
		g.arm(g.syncBy)
	}
}
