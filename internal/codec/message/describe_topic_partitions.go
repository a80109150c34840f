package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeTopicPartitionsRequest asks for topics, as many partitions at a time as the
// client likes (key 75, KIP-966).
type DescribeTopicPartitionsRequest struct {
	Topics                 []DescribeTopicPartitionsTopic
	ResponsePartitionLimit int32
	Cursor                 *DescribeTopicPartitionsCursor
}

// Fields is the wire order.
func (m *DescribeTopicPartitionsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Topics", "TopicRequest", &m.Topics, "topics asked for; empty: all")
	c.Int32("ResponsePartitionLimit", &m.ResponsePartitionLimit, "most partitions of the answer")
	codec.NullStruct(c, "Cursor", "Cursor", &m.Cursor, "where to go on; null: at the beginning")
}

// DescribeTopicPartitionsTopic names one topic.
type DescribeTopicPartitionsTopic struct {
	Name string
}

// Fields is the wire order.
func (m *DescribeTopicPartitionsTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
}

// DescribeTopicPartitionsCursor is a partition to go on with.
type DescribeTopicPartitionsCursor struct {
	TopicName      string
	PartitionIndex int32
}

// Fields is the wire order.
func (m *DescribeTopicPartitionsCursor) Fields(c *codec.Cursor) {
	c.String("TopicName", &m.TopicName, "name of the topic")
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
}

// DescribeTopicPartitionsResponse tells topics in the order of their names.
type DescribeTopicPartitionsResponse struct {
	ThrottleTimeMs int32
	Topics         []DescribeTopicPartitionsResponseTopic
	NextCursor     *DescribeTopicPartitionsCursor
}

// Fields is the wire order.
func (m *DescribeTopicPartitionsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Topics", "DescribeTopicPartitionsResponseTopic", &m.Topics, "topics, with the partitions that fit")
	codec.NullStruct(c, "NextCursor", "Cursor", &m.NextCursor, "what did not fit begins here; null: all did")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeTopicPartitionsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeTopicPartitionsResponseTopic is one topic.
type DescribeTopicPartitionsResponseTopic struct {
	ErrorCode                 kafka.Code
	Name                      *string
	TopicID                   kafka.TopicID
	IsInternal                bool
	Partitions                []DescribeTopicPartitionsResponsePartition
	TopicAuthorizedOperations int32
}

// Fields is the wire order.
func (m *DescribeTopicPartitionsResponseTopic) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this topic")
	c.NullString("Name", 0, &m.Name, "name of the topic")
	c.UUID("TopicId", &m.TopicID, "id of the topic; zero: none")
	c.Bool("IsInternal", &m.IsInternal, "the topic is the broker's own")
	codec.Array(c, "Partitions", "DescribeTopicPartitionsResponsePartition", &m.Partitions, "partitions of the topic")
	c.Int32("TopicAuthorizedOperations", &m.TopicAuthorizedOperations, "bits of what the caller may do with the topic")
}

// DescribeTopicPartitionsResponsePartition is one partition.
type DescribeTopicPartitionsResponsePartition struct {
	ErrorCode              kafka.Code
	PartitionIndex         int32
	LeaderID               int32
	LeaderEpoch            int32
	ReplicaNodes           []int32
	IsrNodes               []int32
	EligibleLeaderReplicas []int32
	LastKnownELR           []int32
	OfflineReplicas        []int32
}

// Fields is the wire order.
func (m *DescribeTopicPartitionsResponsePartition) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int32("LeaderId", &m.LeaderID, "broker that leads it; -1: none")
	c.Int32("LeaderEpoch", &m.LeaderEpoch, "epoch of that leader")
	c.Int32s("ReplicaNodes", &m.ReplicaNodes, "brokers that hold it")
	c.Int32s("IsrNodes", &m.IsrNodes, "brokers that hold all of it")
	c.NullInt32s("EligibleLeaderReplicas", 0, &m.EligibleLeaderReplicas, "brokers that may lead it besides; null: unknown")
	c.NullInt32s("LastKnownElr", 0, &m.LastKnownELR, "brokers that could do so last; null: unknown")
	c.Int32s("OfflineReplicas", &m.OfflineReplicas, "brokers that hold it and are away")
}
