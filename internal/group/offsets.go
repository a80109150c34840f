package group

import (
	"cmp"
	"maps"
	"slices"

	"kaasd/internal/kafka"
)

// Committed is one offset that a group keeps.
type Committed struct {
	Offset      int64
	LeaderEpoch int32 // -1: unknown
	Metadata    string
	At          int64 // when it was committed, ms since the epoch
	Expires     int64 // when it lapses, ms since the epoch; -1: as the broker says
}

// Topic is a group's offsets in one life of a topic: one that is made anew
// under the name has none.
type Topic struct {
	ID         kafka.TopicID
	Name       string
	Partitions []Partition
}

// Partition is the offset of one partition.
type Partition struct {
	Partition int32
	Committed
}

// offsets are those of a group.
type offsets struct {
	byID  map[kafka.TopicID]*topicOffsets
	bytes int64 // that they take
}

type topicOffsets struct {
	id         kafka.TopicID
	name       string
	partitions map[int32]Committed
}

// put keeps offsets beside, or over, those that are there.
func (o *offsets) put(topics []Topic) {
	if o.byID == nil {
		o.byID = make(map[kafka.TopicID]*topicOffsets, len(topics))
	}
	for i := range topics {
		n := &topics[i]
		t := o.byID[n.ID]
		if t == nil {
			t = &topicOffsets{id: n.ID, name: n.Name, partitions: make(map[int32]Committed, len(n.Partitions))}
			o.byID[n.ID] = t
			o.bytes += topicWeighs(n.Name)
		}
		for j := range n.Partitions {
			p := &n.Partitions[j]
			o.forget(t, p.Partition)
			t.partitions[p.Partition] = p.Committed
			o.bytes += p.weighs()
		}
	}
}

// forget takes the bytes of a partition off, if it has an offset.
func (o *offsets) forget(t *topicOffsets, partition int32) {
	if last, ok := t.partitions[partition]; ok {
		o.bytes -= last.weighs()
	}
}

// drop forgets partitions, and topics of which nothing is left.
func (o *offsets) drop(gone []droppedTopic) {
	for _, d := range gone {
		t := o.byID[d.ID]
		if t == nil {
			continue
		}
		for _, p := range d.Partitions {
			o.forget(t, p)
			delete(t.partitions, p)
		}
		if len(t.partitions) == 0 {
			o.bytes -= topicWeighs(t.name)
			delete(o.byID, d.ID)
		}
	}
}

// find collects the partitions of which it is said, to drop them.
func (o *offsets) find(which func(t *topicOffsets, c Committed) bool) []droppedTopic {
	var found []droppedTopic
	for _, t := range o.byName() {
		var partitions []int32
		for _, p := range slices.Sorted(maps.Keys(t.partitions)) {
			if which(t, t.partitions[p]) {
				partitions = append(partitions, p)
			}
		}
		if len(partitions) > 0 {
			found = append(found, droppedTopic{ID: t.id, Partitions: partitions})
		}
	}
	return found
}

// byName are the topics in order of their names.
func (o *offsets) byName() []*topicOffsets {
	return slices.SortedFunc(maps.Values(o.byID), func(a, b *topicOffsets) int {
		return cmp.Or(cmp.Compare(a.name, b.name), slices.Compare(a.id[:], b.id[:]))
	})
}

// len is how many partitions have an offset.
func (o *offsets) len() int {
	n := 0
	for _, t := range o.byID {
		n += len(t.partitions)
	}
	return n
}

// all are the offsets of a topic, by partition.
func (t *topicOffsets) all() Topic {
	topic := Topic{ID: t.id, Name: t.name, Partitions: make([]Partition, 0, len(t.partitions))}
	for _, p := range slices.Sorted(maps.Keys(t.partitions)) {
		topic.Partitions = append(topic.Partitions, Partition{p, t.partitions[p]})
	}
	return topic
}

// topics are all offsets, in order of topics and partitions.
func (o *offsets) topics() []Topic {
	var all []Topic
	for _, t := range o.byName() {
		all = append(all, t.all())
	}
	return all
}
