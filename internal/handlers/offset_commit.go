package handlers

import (
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// OffsetCommit (key 8): v2-10, flexible from v8, topics by id from v10. The offsets of a request are
// kept together or not at all, but for the partitions that are refused, and
// durably as log.flush says before the answer.
//
// Differs from Kafka: a log that does not take the commit is told as
// COORDINATOR_NOT_AVAILABLE, whatever the reason, for which clients try again.
func (h *Handlers) offsetCommit(c *call, req *message.OffsetCommitRequest) (*message.OffsetCommitResponse, error) {
	resp := &message.OffsetCommitResponse{Topics: make([]message.OffsetCommitResponseTopic, len(req.Topics))}
	r := &group.Commit{MemberID: req.MemberID, InstanceID: orEmpty(req.GroupInstanceID), Generation: req.GenerationIDOrMemberEpoch,
		KnowsNoGroup: c.header.Version >= 9}
	err := c.mayRead(req.GroupID)
	for i := range req.Topics {
		resp.Topics[i] = c.takeOffsets(&req.Topics[i], r, err, req.RetentionTimeMs)
	}
	if len(r.Topics) == 0 {
		return resp, nil
	}
	began := time.Now()
	err = h.Groups.Commit(c.ctx, c.now, req.GroupID, r)
	c.committing += time.Since(began)
	if err != nil {
		c.refuseOffsets(resp, c.code(err))
	} else {
		c.speaksFor(req.GroupID, req.MemberID)
	}
	return resp, nil
}

// takeOffsets adds what may be kept of a topic to the commit. The partitions
// that may not be have their error in the answer then.
func (c *call) takeOffsets(asked *message.OffsetCommitTopic, r *group.Commit, refused error, retention int64) message.OffsetCommitResponseTopic {
	out := message.OffsetCommitResponseTopic{Name: asked.Name, TopicID: asked.TopicID, Partitions: make([]message.OffsetCommitResponsePartition, len(asked.Partitions))}
	var t *metadata.Topic
	if refused == nil {
		t, refused = c.topic(asked.Name, asked.TopicID, c.byTopicID(), kafka.OpRead)
	}
	var topic group.Topic
	for i := range asked.Partitions {
		p := &asked.Partitions[i]
		err := refused
		if err == nil {
			err = c.mayKeep(t, p)
		}
		if err == nil {
			topic.ID, topic.Name = t.ID, t.Name
			topic.Partitions = append(topic.Partitions, group.Partition{Partition: p.PartitionIndex, Committed: c.committed(p, retention)})
		}
		out.Partitions[i] = message.OffsetCommitResponsePartition{PartitionIndex: p.PartitionIndex, ErrorCode: c.code(err)}
	}
	if len(topic.Partitions) > 0 {
		r.Topics = append(r.Topics, topic)
	}
	return out
}

func (c *call) mayKeep(t *metadata.Topic, p *message.OffsetCommitPartition) error {
	if err := hasPartition(t, p.PartitionIndex); err != nil {
		return err
	}
	if limit := c.h.Groups.Options().MaxMetadata; p.CommittedMetadata != nil && len(*p.CommittedMetadata) > limit {
		return kafka.Errorf(kafka.OffsetMetadataTooLarge, "metadata of %d bytes is above offset.metadata.max.bytes=%d", len(*p.CommittedMetadata), limit)
	}
	return nil
}

// committed is an offset as the group keeps it. A client of old may say itself
// how long it is kept.
func (c *call) committed(p *message.OffsetCommitPartition, retention int64) group.Committed {
	o := group.Committed{Offset: p.CommittedOffset, LeaderEpoch: p.CommittedLeaderEpoch, At: c.now.UnixMilli(), Expires: -1}
	if p.CommittedMetadata != nil {
		o.Metadata = *p.CommittedMetadata
	}
	if retention >= 0 {
		o.Expires = o.At + min(retention, maxRetention)
	}
	return o
}

// maxRetention bounds what a client may ask for, in ms: some 300 million years.
const maxRetention = 1 << 53

// refuseOffsets tells an error for every partition that has none yet.
func (c *call) refuseOffsets(resp *message.OffsetCommitResponse, code kafka.Code) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.ErrorCode == kafka.NoError {
				p.ErrorCode = code
			}
		}
	}
}
