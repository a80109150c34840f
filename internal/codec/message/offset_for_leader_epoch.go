package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// OffsetForLeaderEpochRequest asks where leader epochs end (key 23, KIP-320).
type OffsetForLeaderEpochRequest struct {
	ReplicaID int32
	Topics    []OffsetForLeaderEpochTopic
}

// Fields is the wire order.
func (m *OffsetForLeaderEpochRequest) Fields(c *codec.Cursor) {
	if c.Version >= 3 {
		c.Int32("ReplicaId", &m.ReplicaID, "follower that asks; -1: a consumer; -2: unknown")
	} else {
		codec.Default(c, &m.ReplicaID, -2)
	}
	codec.Array(c, "Topics", "OffsetForLeaderTopic", &m.Topics, "partitions by topic")
}

// OffsetForLeaderEpochTopic is the partitions of one topic.
type OffsetForLeaderEpochTopic struct {
	Topic      string
	Partitions []OffsetForLeaderEpochPartition
}

// Fields is the wire order.
func (m *OffsetForLeaderEpochTopic) Fields(c *codec.Cursor) {
	c.String("Topic", &m.Topic, "name of the topic")
	codec.Array(c, "Partitions", "OffsetForLeaderPartition", &m.Partitions, "partitions to look in")
}

// OffsetForLeaderEpochPartition is one partition to look in.
type OffsetForLeaderEpochPartition struct {
	Partition          int32
	CurrentLeaderEpoch int32
	LeaderEpoch        int32
}

// Fields is the wire order.
func (m *OffsetForLeaderEpochPartition) Fields(c *codec.Cursor) {
	c.Int32("Partition", &m.Partition, "number of the partition")
	c.Int32("CurrentLeaderEpoch", &m.CurrentLeaderEpoch, "leader epoch the client knows; -1: none")
	c.Int32("LeaderEpoch", &m.LeaderEpoch, "epoch whose end is asked for")
}

// OffsetForLeaderEpochResponse tells where epochs end.
type OffsetForLeaderEpochResponse struct {
	ThrottleTimeMs int32
	Topics         []OffsetForLeaderEpochResponseTopic
}

// Fields is the wire order.
func (m *OffsetForLeaderEpochResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Topics", "OffsetForLeaderTopicResult", &m.Topics, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *OffsetForLeaderEpochResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// OffsetForLeaderEpochResponseTopic answers for one topic.
type OffsetForLeaderEpochResponseTopic struct {
	Topic      string
	Partitions []OffsetForLeaderEpochResponsePartition
}

// Fields is the wire order.
func (m *OffsetForLeaderEpochResponseTopic) Fields(c *codec.Cursor) {
	c.String("Topic", &m.Topic, "name of the topic")
	codec.Array(c, "Partitions", "EpochEndOffset", &m.Partitions, "answers by partition")
}

// OffsetForLeaderEpochResponsePartition answers for one partition.
type OffsetForLeaderEpochResponsePartition struct {
	ErrorCode   kafka.Code
	Partition   int32
	LeaderEpoch int32
	EndOffset   int64
}

// Fields is the wire order.
func (m *OffsetForLeaderEpochResponsePartition) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.Int32("Partition", &m.Partition, "number of the partition")
	c.Int32("LeaderEpoch", &m.LeaderEpoch, "largest epoch at or below the asked one; -1: none")
	c.Int64("EndOffset", &m.EndOffset, "offset where it ends; -1: none")
}
