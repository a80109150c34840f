package group

import "time"

// joinStatic is the join of a static member that has no id: it is new, or it
// was started again and takes its own place (KIP-345).
func (g *machine) joinStatic(now time.Time, r *Join, to *Future[Joined]) {
	id := r.InstanceID + "-" + g.newID()
	m, known := g.instances[r.InstanceID]
	if !known {
		g.add(id, r, to, now)
		g.rebalance(now)
		return
	}
	led := g.leader
	g.rename(m, id)
	g.renew(m, r, to)
	g.touch(m, now)
	if g.state != Stable || g.choose() != g.protocol {
		g.rebalance(now)
		return
	}
	m.joining = nil
	g.changed = true
	to.give(g.resumed(m, led))
}

// rename gives a member's place to its next life. What the last one still
// waits for is told that it has been replaced.
func (g *machine) rename(m *member, id string) {
	m.dismiss(errFenced)
	delete(g.members, m.id)
	if g.leader == m.id {
		g.leader = id
	}
	m.id, m.holds = id, 0 // those were of connections of the last life
	g.members[id] = m
}

// resumed is the answer to a static member that goes on where its last life
// stopped, without a rebalance. A leader that does not know how to skip the
// assignment is told of the leader before, so that it takes itself for a
// follower.
func (g *machine) resumed(m *member, led string) Joined {
	answer := g.joined(m)
	if m.id != g.leader {
		return answer
	}
	if !m.skipsAssignments {
		answer.Leader = led
		return answer
	}
	answer.SkipAssignment, answer.Members = true, g.roll()
	return answer
}
