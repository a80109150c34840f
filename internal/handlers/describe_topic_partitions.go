package handlers

import (
	"slices"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// mostDescribed is how many partitions one answer may have
// (max.request.partition.size.limit).
const mostDescribed = 2000

// DescribeTopicPartitions (key 75, KIP-966): v0, always flexible. Topics come in
// the order of their names, a page of partitions at a time; the cursor of an
// answer is where the next one goes on.
//
// Differs from Kafka: topics that the caller may not describe stand among the
// others, not behind them.
func (h *Handlers) describeTopicPartitions(c *call, req *message.DescribeTopicPartitionsRequest) (*message.DescribeTopicPartitionsResponse, error) {
	topics, err := distinct(req.Topics, func(t *message.DescribeTopicPartitionsTopic) string { return t.Name })
	if err != nil {
		return nil, err
	}
	req.Topics = topics
	resp := &message.DescribeTopicPartitionsResponse{Topics: []message.DescribeTopicPartitionsResponseTopic{}}
	if err := checkCursor(req); err != nil {
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, undescribed(t.Name, c.code(err)))
		}
		return resp, nil
	}
	limit := min(max(1, int(req.ResponsePartitionLimit)), mostDescribed)
	if err := c.tellMuch(c.pageBytes(req, limit)); err != nil {
		return nil, err
	}
	c.describePage(resp, c.namesFrom(req), req.Cursor, limit)
	return resp, nil
}

// pageBytes is the memory that a page takes at the most, with the names that it is
// looked for in.
func (c *call) pageBytes(req *message.DescribeTopicPartitionsRequest, limit int) int {
	const partition, name = 256, 64
	names := len(req.Topics)
	if names == 0 {
		names = len(c.image.Topics())
	}
	return min(limit, c.image.Partitions())*partition + names*name
}

// checkCursor refuses a cursor that no answer to the same topics has held.
func checkCursor(req *message.DescribeTopicPartitionsRequest) error {
	switch at := req.Cursor; {
	case at == nil:
		return nil
	case at.PartitionIndex < 0:
		return kafka.Errorf(kafka.InvalidRequest, "the cursor begins with partition %d, which is below 0", at.PartitionIndex)
	case len(req.Topics) > 0 && !slices.Contains(req.Topics, message.DescribeTopicPartitionsTopic{Name: at.TopicName}):
		return kafka.Errorf(kafka.InvalidRequest, "the cursor's topic %q is not among those that are asked for", at.TopicName)
	}
	return nil
}

// namesFrom are the topics asked for that do not lie before the cursor, in
// order. No topics are all that the caller may describe.
func (c *call) namesFrom(req *message.DescribeTopicPartitionsRequest) []string {
	var names []string
	for _, t := range req.Topics {
		names = append(names, t.Name)
	}
	if len(req.Topics) == 0 {
		for _, t := range c.image.Topics() {
			if c.may(kafka.OpDescribe, kafka.TopicResource(t.Name)) {
				names = append(names, t.Name)
			}
		}
	}
	slices.Sort(names)
	if req.Cursor != nil {
		first, _ := slices.BinarySearch(names, req.Cursor.TopicName)
		names = names[first:]
	}
	return names
}

// describePage fills an answer with up to limit partitions, and says where it
// stopped.
func (c *call) describePage(resp *message.DescribeTopicPartitionsResponse, names []string, from *message.DescribeTopicPartitionsCursor, limit int) {
	for _, name := range names {
		if limit == 0 {
			resp.NextCursor = &message.DescribeTopicPartitionsCursor{TopicName: name}
			return
		}
		t, err := c.topic(name, kafka.TopicID{}, false, kafka.OpDescribe)
		if err != nil {
			resp.Topics = append(resp.Topics, c.whyUndescribed(name, err))
			continue
		}
		first := int32(0)
		if from != nil && from.TopicName == name {
			first = min(from.PartitionIndex, t.Partitions)
		}
		last := min(t.Partitions, first+int32(limit))
		resp.Topics = append(resp.Topics, c.describePartitions(t, first, last))
		if last < t.Partitions {
			resp.NextCursor = &message.DescribeTopicPartitionsCursor{TopicName: name, PartitionIndex: last}
			return
		}
		limit -= int(last - first)
	}
}

func (c *call) whyUndescribed(name string, err error) message.DescribeTopicPartitionsResponseTopic {
	topic := undescribed(name, c.code(err))
	if topic.ErrorCode == kafka.UnknownTopicOrPartition {
		topic.TopicAuthorizedOperations = c.operations(kafka.TopicResource(name))
		if bad := kafka.CheckTopicName(name); bad != nil {
			topic.ErrorCode = c.code(bad)
		}
	}
	return topic
}

func undescribed(name string, code kafka.Code) message.DescribeTopicPartitionsResponseTopic {
	return message.DescribeTopicPartitionsResponseTopic{
		ErrorCode: code, Name: &name, Partitions: []message.DescribeTopicPartitionsResponsePartition{},
		TopicAuthorizedOperations: message.NoOperations,
	}
}

// describePartitions is a topic with the partitions from first up to end.
func (c *call) describePartitions(t *metadata.Topic, first, end int32) message.DescribeTopicPartitionsResponseTopic {
	topic := undescribed(t.Name, kafka.NoError)
	topic.TopicID, topic.TopicAuthorizedOperations = t.ID, c.operations(kafka.TopicResource(t.Name))
	self, nobody, epoch := []int32{int32(c.h.NodeID)}, []int32{}, c.h.Store.Epoch()
	for i := first; i < end; i++ {
		topic.Partitions = append(topic.Partitions, message.DescribeTopicPartitionsResponsePartition{
			PartitionIndex: i, LeaderID: self[0], LeaderEpoch: epoch, ReplicaNodes: self, IsrNodes: self,
			EligibleLeaderReplicas: nobody, LastKnownELR: nobody,
		})
	}
	return topic
}
