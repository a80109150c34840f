package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// OffsetForLeaderEpoch (key 23, KIP-101, KIP-320): v2-4, flexible from v4.
// Every start of the broker begins an epoch; consumers ask where the one they
// know ended, and so learn of records that a power cut has taken.
//
// Differs from Kafka: a replica id is ignored. Describe on the topic is enough,
// and so is ClusterAction on the cluster.
func (h *Handlers) offsetForLeaderEpoch(c *call, req *message.OffsetForLeaderEpochRequest) (*message.OffsetForLeaderEpochResponse, error) {
	topics, err := epochTopics.distinct(req.Topics)
	if err != nil {
		return nil, err
	}
	resp := &message.OffsetForLeaderEpochResponse{Topics: make([]message.OffsetForLeaderEpochResponseTopic, len(topics))}
	for i := range topics {
		asked, out := &topics[i], &resp.Topics[i]
		out.Topic = asked.Topic
		out.Partitions = make([]message.OffsetForLeaderEpochResponsePartition, len(asked.Partitions))
		for j := range asked.Partitions {
			p := &asked.Partitions[j]
			epoch, end, err := h.epochEnd(c, asked.Topic, p)
			out.Partitions[j] = message.OffsetForLeaderEpochResponsePartition{
				Partition: p.Partition, ErrorCode: c.code(err), LeaderEpoch: epoch, EndOffset: end,
			}
		}
	}
	return resp, nil
}

// epochTopics is how partitions with epochs are asked for.
var epochTopics = topicsOf[message.OffsetForLeaderEpochTopic, message.OffsetForLeaderEpochPartition, string]{
	name: func(t *message.OffsetForLeaderEpochTopic) string { return t.Topic },
	partitions: func(t *message.OffsetForLeaderEpochTopic) *[]message.OffsetForLeaderEpochPartition {
		return &t.Partitions
	},
	number: func(p message.OffsetForLeaderEpochPartition) int32 { return p.Partition },
}

func (h *Handlers) epochEnd(c *call, topic string, p *message.OffsetForLeaderEpochPartition) (epoch int32, end int64, err error) {
	t, err := c.epochTopic(topic)
	if err != nil {
		return -1, -1, err
	}
	log, err := h.logs.find(t, p.Partition)
	if err != nil {
		return -1, -1, err
	}
	current := log.Offsets().Epoch
	if err := checkEpoch(p.CurrentLeaderEpoch, current); err != nil {
		return -1, -1, err
	}
	if p.LeaderEpoch < 0 || p.LeaderEpoch > current {
		return -1, -1, nil
	}
	epoch, end = log.EpochEnd(p.LeaderEpoch)
	return epoch, end, nil
}

// epochTopic is a topic of which the caller may know the epochs.
func (c *call) epochTopic(name string) (*metadata.Topic, error) {
	t, err := c.topic(name, kafka.TopicID{}, false, kafka.OpDescribe)
	if kafka.CodeOf(err) == kafka.TopicAuthorizationFailed && c.may(kafka.OpClusterAction, kafka.Cluster) {
		known, ok := c.image.Topic(name)
		if !ok {
			return nil, errUnknownTopic
		}
		return known, nil
	}
	return t, err
}
