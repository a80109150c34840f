package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// ListOffsetsRequest finds offsets by time (key 2).
type ListOffsetsRequest struct {
	ReplicaID      int32
	IsolationLevel int8
	Topics         []ListOffsetsTopic
	TimeoutMs      int32
}

// Fields is the wire order.
func (m *ListOffsetsRequest) Fields(c *codec.Cursor) {
	c.Int32("ReplicaId", &m.ReplicaID, "follower that asks; -1: a consumer")
	if c.Version >= 2 {
		c.Int8("IsolationLevel", &m.IsolationLevel, "0: all records; 1: without those of open transactions")
	}
	codec.Array(c, "Topics", "ListOffsetsTopic", &m.Topics, "partitions by topic")
	if c.Version >= 10 {
		c.Int32("TimeoutMs", &m.TimeoutMs, "how long to wait for a remote log, in ms")
	}
}

// ListOffsetsTopic is the partitions of one topic.
type ListOffsetsTopic struct {
	Name       string
	Partitions []ListOffsetsPartition
}

// Fields is the wire order.
func (m *ListOffsetsTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "ListOffsetsPartition", &m.Partitions, "partitions to look in")
}

// ListOffsetsPartition is one partition to look in.
type ListOffsetsPartition struct {
	PartitionIndex     int32
	CurrentLeaderEpoch int32
	Timestamp          int64
}

// Fields is the wire order.
func (m *ListOffsetsPartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	if c.Version >= 4 {
		c.Int32("CurrentLeaderEpoch", &m.CurrentLeaderEpoch, "leader epoch the client knows; -1: none")
	} else {
		codec.Default(c, &m.CurrentLeaderEpoch, -1)
	}
	c.Int64("Timestamp", &m.Timestamp, "time in ms, or -1 latest, -2 earliest, -3 largest timestamp, -4 earliest local, -5 latest tiered, -6 earliest pending upload")
}

// ListOffsetsResponse tells the offsets found.
type ListOffsetsResponse struct {
	ThrottleTimeMs int32
	Topics         []ListOffsetsResponseTopic
}

// Fields is the wire order.
func (m *ListOffsetsResponse) Fields(c *codec.Cursor) {
	if c.Version >= 2 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	codec.Array(c, "Topics", "ListOffsetsTopicResponse", &m.Topics, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *ListOffsetsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// ListOffsetsResponseTopic answers for one topic.
type ListOffsetsResponseTopic struct {
	Name       string
	Partitions []ListOffsetsResponsePartition
}

// Fields is the wire order.
func (m *ListOffsetsResponseTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "ListOffsetsPartitionResponse", &m.Partitions, "answers by partition")
}

// ListOffsetsResponsePartition answers for one partition.
type ListOffsetsResponsePartition struct {
	PartitionIndex int32
	ErrorCode      kafka.Code
	Timestamp      int64
	Offset         int64
	LeaderEpoch    int32
}

// Fields is the wire order.
func (m *ListOffsetsResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.Int64("Timestamp", &m.Timestamp, "timestamp of the record found, in ms; -1: none")
	c.Int64("Offset", &m.Offset, "offset found; -1: none")
	if c.Version >= 4 {
		c.Int32("LeaderEpoch", &m.LeaderEpoch, "leader epoch of the record found; -1: unknown")
	} else {
		codec.Default(c, &m.LeaderEpoch, -1)
	}
}
