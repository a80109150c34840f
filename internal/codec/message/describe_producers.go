package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeProducersRequest asks who writes to partitions (key 61, KIP-664).
type DescribeProducersRequest struct {
	Topics []DescribeProducersTopic
}

// Fields is the wire order.
func (m *DescribeProducersRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Topics", "TopicRequest", &m.Topics, "partitions by topic")
}

// DescribeProducersTopic names partitions of one topic.
type DescribeProducersTopic struct {
	Name             string
	PartitionIndexes []int32
}

// Fields is the wire order.
func (m *DescribeProducersTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	c.Int32s("PartitionIndexes", &m.PartitionIndexes, "their numbers")
}

// DescribeProducersResponse tells the producers that are remembered.
type DescribeProducersResponse struct {
	ThrottleTimeMs int32
	Topics         []DescribeProducersResponseTopic
}

// Fields is the wire order.
func (m *DescribeProducersResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Topics", "TopicResponse", &m.Topics, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeProducersResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeProducersResponseTopic answers for one topic.
type DescribeProducersResponseTopic struct {
	Name       string
	Partitions []DescribeProducersResponsePartition
}

// Fields is the wire order.
func (m *DescribeProducersResponseTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "PartitionResponse", &m.Partitions, "answers by partition")
}

// DescribeProducersResponsePartition answers for one partition.
type DescribeProducersResponsePartition struct {
	PartitionIndex  int32
	ErrorCode       kafka.Code
	ErrorMessage    *string
	ActiveProducers []DescribeProducersResponseProducer
}

// Fields is the wire order.
func (m *DescribeProducersResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.Array(c, "ActiveProducers", "ProducerState", &m.ActiveProducers, "its producers")
}

// DescribeProducersResponseProducer is one producer.
type DescribeProducersResponseProducer struct {
	ProducerID            int64
	ProducerEpoch         int32
	LastSequence          int32
	LastTimestamp         int64
	CoordinatorEpoch      int32
	CurrentTxnStartOffset int64
}

// Fields is the wire order.
func (m *DescribeProducersResponseProducer) Fields(c *codec.Cursor) {
	c.Int64("ProducerId", &m.ProducerID, "id of the producer")
	c.Int32("ProducerEpoch", &m.ProducerEpoch, "its epoch")
	c.Int32("LastSequence", &m.LastSequence, "sequence of the last record it wrote; -1: none")
	c.Int64("LastTimestamp", &m.LastTimestamp, "time of that, in ms; -1: none")
	c.Int32("CoordinatorEpoch", &m.CoordinatorEpoch, "epoch of the coordinator that wrote its last marker; -1: none")
	c.Int64("CurrentTxnStartOffset", &m.CurrentTxnStartOffset, "where its open transaction begins; -1: none is open")
}
