package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
)

// OffsetFetch (key 9, KIP-447, KIP-709): v1-10, flexible from v6, several groups
// from v8, topics by id from v10. A partition without an offset, and one that
// does not exist, is -1 without an error; an id that does not exist is one. No
// offset is ever unstable, for want of transactions.
//
// Differs from Kafka: the member that asks, from v9 on, is not looked at; it is
// of use to another protocol than the classic one.
func (h *Handlers) offsetFetch(c *call, req *message.OffsetFetchRequest) (*message.OffsetFetchResponse, error) {
	if err := keepDistinctOffsets(req); err != nil {
		return nil, err
	}
	if c.header.Version >= 8 {
		resp := &message.OffsetFetchResponse{Groups: make([]message.OffsetFetchResponseGroup, len(req.Groups))}
		for i := range req.Groups {
			g := &req.Groups[i]
			topics, err := c.offsets(g.GroupID, g.Topics)
			resp.Groups[i] = message.OffsetFetchResponseGroup{GroupID: g.GroupID, Topics: topics, ErrorCode: c.code(err)}
		}
		return resp, nil
	}
	topics, err := c.offsets(req.GroupID, req.Topics)
	resp := &message.OffsetFetchResponse{Topics: topics, ErrorCode: c.code(err)}
	if err != nil && c.header.Version < 2 { // there is no other place for it
		resp.Topics = refusedOffsets(req.Topics, resp.ErrorCode)
	}
	return resp, nil
}

// offsetTopics is how partitions with offsets are asked for.
var offsetTopics = topicsOf[message.OffsetFetchTopic, int32, topicWords]{
	name:       func(t *message.OffsetFetchTopic) topicWords { return topicWords{name: t.Name, id: t.TopicID} },
	partitions: func(t *message.OffsetFetchTopic) *[]int32 { return &t.PartitionIndexes },
	number:     itself,
}

// groupWords is how a request names a group: with all of its offsets or some.
type groupWords struct {
	name string
	all  bool
}

// keepDistinctOffsets keeps of a request each group once, and each of its
// partitions.
func keepDistinctOffsets(req *message.OffsetFetchRequest) (err error) {
	if req.Topics, err = offsetTopics.distinct(req.Topics); err != nil {
		return err
	}
	req.Groups = gathered(req.Groups)
	named := len(req.Groups)
	err = tooMany(named)
	for i := 0; i < len(req.Groups) && err == nil; i++ {
		g := &req.Groups[i]
		if g.Topics, err = offsetTopics.distinct(g.Topics); err != nil {
			break
		}
		for _, t := range g.Topics {
			named += 1 + len(t.PartitionIndexes)
		}
		err = tooMany(named)
	}
	return err
}

// gathered is each group once, with all of the topics that are asked of it.
func gathered(groups []message.OffsetFetchGroup) []message.OffsetFetchGroup {
	at := map[groupWords]int{}
	kept := groups[:0]
	for _, g := range groups {
		words := groupWords{g.GroupID, g.Topics == nil}
		i, again := at[words]
		if again {
			kept[i].Topics = append(kept[i].Topics, g.Topics...)
			continue
		}
		at[words] = len(kept)
		kept = append(kept, g)
	}
	return kept
}

// offsets are those of a group: of the topics asked for, or with nil of all
// that the caller may see.
func (c *call) offsets(name string, topics []message.OffsetFetchTopic) ([]message.OffsetFetchResponseTopic, error) {
	if err := c.allow(kafka.OpDescribe, kafka.GroupResource(name)); err != nil {
		return nil, err
	}
	if topics == nil {
		return c.allOffsets(name), nil
	}
	out := make([]message.OffsetFetchResponseTopic, len(topics))
	wanted := make([]group.Topic, len(topics))
	refused := make([]error, len(topics))
	for i, t := range topics {
		wanted[i].ID, refused[i] = c.offsetsOf(&t)
		for _, p := range t.PartitionIndexes {
			wanted[i].Partitions = append(wanted[i].Partitions, group.Partition{Partition: p})
		}
	}
	c.h.Groups.Committed(name, wanted)
	for i, t := range topics {
		if err := refused[i]; err != nil {
			out[i] = refusedOffsets(topics[i:i+1], c.code(err))[0]
			continue
		}
		out[i] = showOffsets(t.Name, t.TopicID, wanted[i].Partitions)
	}
	return out, nil
}

// offsetsOf is the id under which the offsets of a topic are kept, zero for one
// that is not there, or why the caller may not see them.
func (c *call) offsetsOf(asked *message.OffsetFetchTopic) (kafka.TopicID, error) {
	t, err := c.topic(asked.Name, asked.TopicID, c.byTopicID(), kafka.OpDescribe)
	switch {
	case kafka.CodeOf(err) == kafka.UnknownTopicOrPartition:
		return kafka.TopicID{}, nil
	case err != nil:
		return kafka.TopicID{}, err
	}
	return t.ID, nil
}

// byTopicID says whether requests about committed offsets name topics by id.
func (c *call) byTopicID() bool { return c.header.Version >= 10 }

func (c *call) allOffsets(name string) []message.OffsetFetchResponseTopic {
	out := []message.OffsetFetchResponseTopic{}
	for _, t := range c.h.Groups.AllCommitted(name) {
		known, ok := c.image.TopicByID(t.ID)
		if ok && c.may(kafka.OpDescribe, kafka.TopicResource(known.Name)) {
			out = append(out, showOffsets(known.Name, t.ID, t.Partitions))
		}
	}
	return out
}

func showOffsets(name string, id kafka.TopicID, partitions []group.Partition) message.OffsetFetchResponseTopic {
	out := message.OffsetFetchResponseTopic{Name: name, TopicID: id, Partitions: make([]message.OffsetFetchResponsePartition, len(partitions))}
	for i := range partitions {
		p := &partitions[i]
		out.Partitions[i] = message.OffsetFetchResponsePartition{
			PartitionIndex: p.Partition, CommittedOffset: p.Offset, CommittedLeaderEpoch: p.LeaderEpoch, Metadata: &p.Metadata,
		}
	}
	return out
}

// refusedOffsets is the answer for partitions that the caller may not see.
func refusedOffsets(topics []message.OffsetFetchTopic, code kafka.Code) []message.OffsetFetchResponseTopic {
	out := make([]message.OffsetFetchResponseTopic, len(topics))
	for i, t := range topics {
		out[i] = message.OffsetFetchResponseTopic{Name: t.Name, TopicID: t.TopicID, Partitions: make([]message.OffsetFetchResponsePartition, len(t.PartitionIndexes))}
		for j, p := range t.PartitionIndexes {
			out[i].Partitions[j] = message.OffsetFetchResponsePartition{
				PartitionIndex: p, CommittedOffset: -1, CommittedLeaderEpoch: -1, Metadata: new(string), ErrorCode: code,
			}
		}
	}
	return out
}
