package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// OffsetCommitRequest keeps offsets for a group (key 8). From version 10 on
// topics are named by id (KIP-848).
type OffsetCommitRequest struct {
	GroupID                   string
	GenerationIDOrMemberEpoch int32
	MemberID                  string
	GroupInstanceID           *string
	RetentionTimeMs           int64
	Topics                    []OffsetCommitTopic
}

// Fields is the wire order.
func (m *OffsetCommitRequest) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	c.Int32("GenerationIdOrMemberEpoch", &m.GenerationIDOrMemberEpoch, "generation of the group; -1: no member commits")
	c.String("MemberId", &m.MemberID, "id of the member; empty: no member commits")
	if c.Version >= 7 {
		c.NullString("GroupInstanceId", 7, &m.GroupInstanceID, "name of a static member; null: a dynamic one")
	}
	if c.Version <= 4 {
		c.Int64("RetentionTimeMs", &m.RetentionTimeMs, "how long to keep the offsets, in ms; -1: as the broker does")
	} else {
		codec.Default(c, &m.RetentionTimeMs, -1)
	}
	codec.Array(c, "Topics", "OffsetCommitRequestTopic", &m.Topics, "offsets by topic")
}

// OffsetCommitTopic is the offsets of one topic.
type OffsetCommitTopic struct {
	Name       string
	TopicID    kafka.TopicID
	Partitions []OffsetCommitPartition
}

// Fields is the wire order.
func (m *OffsetCommitTopic) Fields(c *codec.Cursor) {
	if c.Version <= 9 {
		c.String("Name", &m.Name, "name of the topic")
	} else {
		c.UUID("TopicId", &m.TopicID, "id of the topic")
	}
	codec.Array(c, "Partitions", "OffsetCommitRequestPartition", &m.Partitions, "offsets by partition")
}

// OffsetCommitPartition is the offset of one partition.
type OffsetCommitPartition struct {
	PartitionIndex       int32
	CommittedOffset      int64
	CommittedLeaderEpoch int32
	CommittedMetadata    *string
}

// Fields is the wire order.
func (m *OffsetCommitPartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int64("CommittedOffset", &m.CommittedOffset, "offset of the record to read next")
	if c.Version >= 6 {
		c.Int32("CommittedLeaderEpoch", &m.CommittedLeaderEpoch, "leader epoch of the record before it; -1: unknown")
	} else {
		codec.Default(c, &m.CommittedLeaderEpoch, -1)
	}
	c.NullString("CommittedMetadata", 0, &m.CommittedMetadata, "what the client wants kept beside the offset")
}

// OffsetCommitResponse tells which offsets are kept.
type OffsetCommitResponse struct {
	ThrottleTimeMs int32
	Topics         []OffsetCommitResponseTopic
}

// Fields is the wire order.
func (m *OffsetCommitResponse) Fields(c *codec.Cursor) {
	if c.Version >= 3 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	codec.Array(c, "Topics", "OffsetCommitResponseTopic", &m.Topics, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *OffsetCommitResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// OffsetCommitResponseTopic answers for one topic.
type OffsetCommitResponseTopic struct {
	Name       string
	TopicID    kafka.TopicID
	Partitions []OffsetCommitResponsePartition
}

// Fields is the wire order.
func (m *OffsetCommitResponseTopic) Fields(c *codec.Cursor) {
	if c.Version <= 9 {
		c.String("Name", &m.Name, "name of the topic")
	} else {
		c.UUID("TopicId", &m.TopicID, "id of the topic, as asked")
	}
	codec.Array(c, "Partitions", "OffsetCommitResponsePartition", &m.Partitions, "answers by partition")
}

// OffsetCommitResponsePartition answers for one partition.
type OffsetCommitResponsePartition struct {
	PartitionIndex int32
	ErrorCode      kafka.Code
}

// Fields is the wire order.
func (m *OffsetCommitResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
}
