package group

import "iter"

// maxRewritten is how many offsets a rewrite puts into one record.
const maxRewritten = 1000

// whole is everything there is to keep of a group, as changes.
func (g *machine) whole() iter.Seq[change] {
	return func(yield func(change) bool) {
		if g.generation > 0 && !yield(g.saved()) {
			return
		}
		next := &offsetsCommitted{Group: g.name}
		n := 0
		for _, t := range g.offsets.topics() {
			for len(t.Partitions) > 0 {
				k := min(len(t.Partitions), maxRewritten-n)
				next.Topics = append(next.Topics, Topic{ID: t.ID, Name: t.Name, Partitions: t.Partitions[:k]})
				t.Partitions = t.Partitions[k:]
				if n += k; n < maxRewritten {
					continue
				}
				if !yield(next) {
					return
				}
				next, n = &offsetsCommitted{Group: g.name}, 0
			}
		}
		if n > 0 {
			yield(next)
		}
	}
}

// weight is about how many bytes whole takes in the log.
func (g *machine) weight() int64 {
	const batch, record, partition, member = 75, 20, 34, 60
	n := 0
	for _, t := range g.offsets.byID {
		n += 20 + len(t.name)
		for _, p := range t.partitions {
			n += partition + len(p.Metadata)
		}
	}
	if n > 0 {
		n += (1 + g.offsets.len()/maxRewritten) * (batch + record + len(g.name))
	}
	if g.generation > 0 {
		n += batch + record + len(g.name) + len(g.protocolType)
	}
	for _, m := range g.inOrder {
		n += member + len(m.id) + len(m.instance) + len(m.clientID) + len(m.assignment)
		for _, p := range m.protocols {
			n += len(p.Name) + len(p.Metadata)
		}
	}
	return int64(n)
}
