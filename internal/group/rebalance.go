package group

import "time"

// rebalance begins one, or sees whether the one under way is complete.
func (g *machine) rebalance(now time.Time) {
	if g.state != PreparingRebalance {
		g.prepare(now)
	}
	g.look(now)
	if g.state == PreparingRebalance {
		g.arm(g.deadline)
	}
}

// prepare asks everybody to join. In a group that was empty it waits a moment
// for others that are about to come, so that they do not each cause a
// rebalance.
func (g *machine) prepare(now time.Time) {
	g.rebalances++
	for _, m := range g.inOrder {
		if m.syncing != nil {
			m.syncing.give(Synced{Err: errRebalance})
			m.syncing = nil
			g.touch(m, now)
		}
	}
	longest := g.longest()
	wait := longest
	if g.initial = g.state == Empty; g.initial {
		wait = min(g.o.InitialDelay, longest)
		g.left = longest - wait
	}
	g.grew, g.syncBy = false, time.Time{}
	g.enter(PreparingRebalance, now)
	g.deadline = now.Add(wait)
}

// look completes the rebalance when everybody is there, or when time is up.
func (g *machine) look(now time.Time) {
	switch {
	case g.state != PreparingRebalance:
	case !now.Before(g.deadline):
		if !g.putOff(now) {
			g.complete(now)
		}
	case !g.initial && g.waiting() == len(g.inOrder) && len(g.pending) == 0:
		g.complete(now)
	}
}

// putOff gives an initial rebalance more time if members came meanwhile.
func (g *machine) putOff(now time.Time) bool {
	more := min(g.o.InitialDelay, g.left)
	if !g.initial || !g.grew || more <= 0 {
		return false
	}
	g.grew = false
	g.left -= more
	g.deadline = now.Add(more)
	g.arm(g.deadline)
	return true
}

// complete begins a generation with those who have joined. Static members may
// be away for as long as their session lasts.
func (g *machine) complete(now time.Time) {
	for _, m := range append([]*member(nil), g.inOrder...) {
		if m.joining == nil && m.instance == "" {
			g.remove(m, errUnknown)
		}
	}
	if len(g.inOrder) == 0 {
		g.empty(now)
		return
	}
	if !g.elect() { // nobody is here, and nobody's session has ended
		g.deadline = now.Add(max(g.longest(), time.Second)) // members may say that they need no time
		g.arm(g.deadline)
		return
	}
	g.generation++
	g.protocol = g.choose()
	g.enter(CompletingRebalance, now)
	g.syncBy = now.Add(g.longest())
	g.arm(g.syncBy)
	g.announce(now)
}

// empty ends the last generation that had members.
func (g *machine) empty(now time.Time) {
	g.generation++
	g.protocol, g.leader, g.dealt = "", "", 0
	g.enter(Empty, now)
	g.changed = true
}

// elect keeps the leader if it is here, and takes the first who is otherwise.
func (g *machine) elect() bool {
	if m, ok := g.members[g.leader]; ok && m.joining != nil {
		return true
	}
	for _, m := range g.inOrder {
		if m.joining != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// announce answers the joins.
func (g *machine) announce(now time.Time) {
	for _, m := range g.inOrder {
		m.synced, m.assignment = false, nil
		if m.joining != nil {
			m.joining.give(g.joined(m))
			m.joining, m.fresh = nil, false
			g.touch(m, now)
		}
	}
}

// choose finds the protocol that all members know and most of them like best.
func (g *machine) choose() string {
	votes := map[string]int{}
	for _, m := range g.inOrder {
		votes[g.favourite(m)]++
	}
	best := g.favourite(g.inOrder[0])
	for _, p := range g.inOrder[0].protocols { // in its order, so that a draw is decided
		if votes[p.Name] > votes[best] {
			best = p.Name
		}
	}
	return best
}

// favourite is the first of a member's protocols that all know.
func (g *machine) favourite(m *member) string {
	for _, p := range m.protocols {
		if g.allKnow(p.Name) {
			return p.Name
		}
	}
	return ""
}

// depart follows the removal of members.
func (g *machine) depart(now time.Time) {
	if g.state != Empty && g.state != Dead {
		g.rebalance(now)
	}
}
