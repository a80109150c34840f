package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// OffsetDeleteRequest removes committed offsets of a group (key 47, KIP-496).
type OffsetDeleteRequest struct {
	GroupID string
	Topics  []OffsetDeleteTopic
}

// Fields is the wire order.
func (m *OffsetDeleteRequest) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	codec.Array(c, "Topics", "OffsetDeleteRequestTopic", &m.Topics, "partitions by topic")
}

// OffsetDeleteTopic is the partitions of one topic.
type OffsetDeleteTopic struct {
	Name       string
	Partitions []OffsetDeletePartition
}

// Fields is the wire order.
func (m *OffsetDeleteTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "OffsetDeleteRequestPartition", &m.Partitions, "partitions whose offset goes")
}

// OffsetDeletePartition is one partition whose offset goes.
type OffsetDeletePartition struct {
	PartitionIndex int32
}

// Fields is the wire order.
func (m *OffsetDeletePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
}

// OffsetDeleteResponse tells which offsets were removed.
type OffsetDeleteResponse struct {
	ErrorCode      kafka.Code
	ThrottleTimeMs int32
	Topics         []OffsetDeleteResponseTopic
}

// Fields is the wire order.
func (m *OffsetDeleteResponse) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the group")
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Topics", "OffsetDeleteResponseTopic", &m.Topics, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *OffsetDeleteResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// OffsetDeleteResponseTopic answers for one topic.
type OffsetDeleteResponseTopic struct {
	Name       string
	Partitions []OffsetDeleteResponsePartition
}

// Fields is the wire order.
func (m *OffsetDeleteResponseTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "OffsetDeleteResponsePartition", &m.Partitions, "answers by partition")
}

// OffsetDeleteResponsePartition answers for one partition.
type OffsetDeleteResponsePartition struct {
	PartitionIndex int32
	ErrorCode      kafka.Code
}

// Fields is the wire order.
func (m *OffsetDeleteResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
}
