package group

import "time"

// What things take beside the bytes that clients name, about: structs, futures,
// places in maps, and the host of a member, which may come back from another one.
const (
	groupBytes    = 1536
	memberBytes   = 768
	protocolBytes = 128
	promiseBytes  = 128
	topicBytes    = 640 // with room for the first offsets
	offsetBytes   = 96
)

// idBytes is what newID adds to a member's id, with the dash.
const idBytes = 37

// keeps is how many bytes the group keeps for its members and those to come;
// none: none.
func (g *machine) keeps() int64 {
	if g.state == Dead || len(g.inOrder)+len(g.pending) == 0 {
		return 0
	}
	return g.kept + g.dealt + g.frame()
}

// frame is what a group takes that has somebody.
func (g *machine) frame() int64 { return groupBytes + int64(len(g.name)) }

// keepsOffsets is how many bytes the group keeps for offsets, and for being there
// though nobody may be in it.
func (g *machine) keepsOffsets() int64 {
	if g.state == Dead || g.generation == 0 && len(g.offsets.byID) == 0 {
		return 0
	}
	return g.offsets.bytes + g.frame()
}

// weigh finds how many bytes a member keeps but for its assignment.
func (m *member) weigh(protocolType string) {
	n := memberBytes + len(m.id) + len(m.instance) + len(m.clientID) + len(protocolType)
	for _, p := range m.protocols {
		n += protocolBytes + len(p.Name) + len(p.Metadata)
	}
	m.kept = int64(n)
}

// promise keeps an id for who is to come back with it.
func (g *machine) promise(id string, until time.Time) {
	g.pending[id] = until
	g.kept += promised(id)
	g.arm(until)
}

// forget takes a promise back, if there is one.
func (g *machine) forget(id string) {
	if _, ok := g.pending[id]; ok {
		delete(g.pending, id)
		g.kept -= promised(id)
	}
}

func promised(id string) int64 { return int64(promiseBytes + len(id)) }

// joinGrowth is how many bytes more the group keeps after a join; none where it
// is going to be refused.
func (g *machine) joinGrowth(r *Join) int64 {
	if !g.accepts(r) || !g.suits(r) {
		return 0
	}
	more := g.brings(r)
	if more > 0 && g.keeps() == 0 {
		more += g.frame()
	}
	return more
}

// brings is how many bytes a join adds to those that it takes the place of.
func (g *machine) brings(r *Join) int64 {
	next := &member{id: r.MemberID, instance: r.InstanceID}
	next.take(r, nil)
	switch {
	case r.MemberID != "":
		return g.bringsBack(r, next.kept)
	case r.InstanceID != "":
		next.kept += int64(len(r.InstanceID) + idBytes)
		if m, ok := g.instances[r.InstanceID]; ok {
			return next.kept - m.kept
		}
		return next.kept
	case r.NeedsID:
		return int64(promiseBytes + len(r.ClientID) + idBytes)
	}
	return next.kept + int64(len(r.ClientID)+idBytes)
}

// bringsBack is brings of a join with an id, that is to keep so much.
func (g *machine) bringsBack(r *Join, keeps int64) int64 {
	if _, ok := g.pending[r.MemberID]; ok && r.InstanceID == "" {
		return keeps - promised(r.MemberID)
	}
	if m, err := g.find(r.MemberID, r.InstanceID); err == nil {
		return keeps - m.kept
	}
	return 0
}

// syncGrowth is how many bytes more the group keeps after a sync. What the last
// assignments took stays the group's own while it rebalances, so that its
// members can go on whatever others have taken meanwhile.
func (g *machine) syncGrowth(r *Sync) int64 {
	m, err := g.current(r.MemberID, r.InstanceID, r.Generation)
	if err != nil || g.state != CompletingRebalance || m.id != g.leader {
		return 0
	}
	more := -g.dealt
	for _, m := range g.inOrder {
		more += int64(len(r.Assignments[m.id]))
	}
	return more
}

// outlastGrowth is how many bytes more the group may keep for good after a join,
// which nobody has to come back for.
func (g *machine) outlastGrowth() int64 {
	if g.keepsOffsets() > 0 {
		return 0
	}
	return g.frame()
}

// commitGrowth is how many bytes more the group keeps after a commit.
func (g *machine) commitGrowth(topics []Topic) int64 {
	more := g.offsets.growth(topics)
	if more > 0 && g.keepsOffsets() == 0 {
		more += g.frame()
	}
	return more
}

// weighs is how many bytes an offset takes.
func (c *Committed) weighs() int64 { return offsetBytes + int64(len(c.Metadata)) }

// topicWeighs is how many bytes a topic takes beside its offsets.
func topicWeighs(name string) int64 { return topicBytes + int64(len(name)) }

// growth is how many bytes more it is after put, at the most: what takes less than
// before makes no room for the rest, since the same partition may be named again.
func (o *offsets) growth(topics []Topic) (more int64) {
	for i := range topics {
		next := &topics[i]
		t := o.byID[next.ID]
		if t == nil {
			more += topicWeighs(next.Name)
			t = &topicOffsets{}
		}
		for j := range next.Partitions {
			p := &next.Partitions[j]
			bytes := p.weighs()
			if last, ok := t.partitions[p.Partition]; ok {
				bytes -= last.weighs()
			}
			more += max(bytes, 0)
		}
	}
	return more
}
