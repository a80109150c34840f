package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DeleteRecordsRequest removes the oldest records (key 21, KIP-107).
type DeleteRecordsRequest struct {
	Topics    []DeleteRecordsTopic
	TimeoutMs int32
}

// Fields is the wire order.
func (m *DeleteRecordsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Topics", "DeleteRecordsTopic", &m.Topics, "partitions by topic")
	c.Int32("TimeoutMs", &m.TimeoutMs, "how long to wait until they are gone, in ms")
}

// DeleteRecordsTopic is the partitions of one topic.
type DeleteRecordsTopic struct {
	Name       string
	Partitions []DeleteRecordsPartition
}

// Fields is the wire order.
func (m *DeleteRecordsTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "DeleteRecordsPartition", &m.Partitions, "partitions to cut")
}

// DeleteRecordsPartition is one partition to cut.
type DeleteRecordsPartition struct {
	PartitionIndex int32
	Offset         int64
}

// Fields is the wire order.
func (m *DeleteRecordsPartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int64("Offset", &m.Offset, "first offset to keep; -1: the high watermark")
}

// DeleteRecordsResponse tells where the logs begin now.
type DeleteRecordsResponse struct {
	ThrottleTimeMs int32
	Topics         []DeleteRecordsResponseTopic
}

// Fields is the wire order.
func (m *DeleteRecordsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Topics", "DeleteRecordsTopicResult", &m.Topics, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DeleteRecordsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DeleteRecordsResponseTopic answers for one topic.
type DeleteRecordsResponseTopic struct {
	Name       string
	Partitions []DeleteRecordsResponsePartition
}

// Fields is the wire order.
func (m *DeleteRecordsResponseTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "DeleteRecordsPartitionResult", &m.Partitions, "answers by partition")
}

// DeleteRecordsResponsePartition answers for one partition.
type DeleteRecordsResponsePartition struct {
	PartitionIndex int32
	LowWatermark   int64
	ErrorCode      kafka.Code
}

// Fields is the wire order.
func (m *DeleteRecordsResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int64("LowWatermark", &m.LowWatermark, "first offset of the log; -1 with an error")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
}
