package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// ElectLeadersRequest asks for an election of leaders (key 43, KIP-183, KIP-460).
type ElectLeadersRequest struct {
	ElectionType    int8
	TopicPartitions []ElectLeadersTopic
	TimeoutMs       int32
}

// Fields is the wire order.
func (m *ElectLeadersRequest) Fields(c *codec.Cursor) {
	if c.Version >= 1 {
		c.Int8("ElectionType", &m.ElectionType, "0: the preferred replica; 1: any, even if records are lost")
	}
	codec.NullArray(c, "TopicPartitions", "TopicPartitions", 0, &m.TopicPartitions, "partitions by topic; null: all")
	c.Int32("TimeoutMs", &m.TimeoutMs, "how long to wait for the elections, in ms")
}

// ElectLeadersTopic names partitions of one topic.
type ElectLeadersTopic struct {
	Topic      string
	Partitions []int32
}

// Fields is the wire order.
func (m *ElectLeadersTopic) Fields(c *codec.Cursor) {
	c.String("Topic", &m.Topic, "name of the topic")
	c.Int32s("Partitions", &m.Partitions, "their numbers")
}

// ElectLeadersResponse tells how the elections went.
type ElectLeadersResponse struct {
	ThrottleTimeMs         int32
	ErrorCode              kafka.Code
	ReplicaElectionResults []ElectLeadersResponseTopic
}

// Fields is the wire order.
func (m *ElectLeadersResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	if c.Version >= 1 {
		c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	}
	codec.Array(c, "ReplicaElectionResults", "ReplicaElectionResult", &m.ReplicaElectionResults, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *ElectLeadersResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// ElectLeadersResponseTopic answers for one topic.
type ElectLeadersResponseTopic struct {
	Topic           string
	PartitionResult []ElectLeadersResponsePartition
}

// Fields is the wire order.
func (m *ElectLeadersResponseTopic) Fields(c *codec.Cursor) {
	c.String("Topic", &m.Topic, "name of the topic")
	codec.Array(c, "PartitionResult", "PartitionResult", &m.PartitionResult, "answers by partition")
}

// ElectLeadersResponsePartition answers for one partition.
type ElectLeadersResponsePartition struct {
	PartitionID  int32
	ErrorCode    kafka.Code
	ErrorMessage *string
}

// Fields is the wire order.
func (m *ElectLeadersResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionId", &m.PartitionID, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
}
