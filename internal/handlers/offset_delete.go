package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
)

// OffsetDelete (key 47, KIP-496): v0, never flexible. Offsets go, but for
// topics that a member of the group reads.
func (h *Handlers) offsetDelete(c *call, req *message.OffsetDeleteRequest) (*message.OffsetDeleteResponse, error) {
	if err := c.allow(kafka.OpDelete, kafka.GroupResource(req.GroupID)); err != nil {
		return &message.OffsetDeleteResponse{ErrorCode: c.code(err)}, nil
	}
	asked, err := droppedTopics.distinct(req.Topics)
	if err != nil {
		return nil, err
	}
	resp := &message.OffsetDeleteResponse{Topics: make([]message.OffsetDeleteResponseTopic, len(asked))}
	var topics []group.Topic
	var places []int // of topics in the answer
	for i := range asked {
		var t group.Topic
		resp.Topics[i], t = c.dropOffsets(&asked[i])
		if len(t.Partitions) > 0 {
			topics, places = append(topics, t), append(places, i)
		}
	}
	results, err := h.Groups.Drop(c.ctx, c.now, req.GroupID, topics)
	if err != nil {
		return &message.OffsetDeleteResponse{ErrorCode: c.code(err)}, nil
	}
	for i, err := range results {
		refuseDrop(&resp.Topics[places[i]], c.code(err))
	}
	return resp, nil
}

// droppedTopics is how partitions whose offsets go are named.
var droppedTopics = topicsOf[message.OffsetDeleteTopic, message.OffsetDeletePartition, string]{
	name:       func(t *message.OffsetDeleteTopic) string { return t.Name },
	partitions: func(t *message.OffsetDeleteTopic) *[]message.OffsetDeletePartition { return &t.Partitions },
	number:     func(p message.OffsetDeletePartition) int32 { return p.PartitionIndex },
}

// dropOffsets gives what may be dropped of a topic. The partitions that may not
// have their error in the answer then.
func (c *call) dropOffsets(asked *message.OffsetDeleteTopic) (message.OffsetDeleteResponseTopic, group.Topic) {
	out := message.OffsetDeleteResponseTopic{Name: asked.Name, Partitions: make([]message.OffsetDeleteResponsePartition, len(asked.Partitions))}
	t, refused := c.topic(asked.Name, kafka.TopicID{}, false, kafka.OpRead)
	topic := group.Topic{Name: asked.Name}
	for i, p := range asked.Partitions {
		err := refused
		if err == nil {
			err = hasPartition(t, p.PartitionIndex)
		}
		if err == nil {
			topic.ID = t.ID
			topic.Partitions = append(topic.Partitions, group.Partition{Partition: p.PartitionIndex})
		}
		out.Partitions[i] = message.OffsetDeleteResponsePartition{PartitionIndex: p.PartitionIndex, ErrorCode: c.code(err)}
	}
	return out, topic
}

// refuseDrop tells an error for every partition of a topic that has none yet.
func refuseDrop(out *message.OffsetDeleteResponseTopic, code kafka.Code) {
	for i := range out.Partitions {
		if p := &out.Partitions[i]; p.ErrorCode == kafka.NoError {
			p.ErrorCode = code
		}
	}
}
