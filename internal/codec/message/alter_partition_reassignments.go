package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// AlterPartitionReassignmentsRequest moves partitions to other brokers (key 45, KIP-455).
type AlterPartitionReassignmentsRequest struct {
	TimeoutMs                    int32
	AllowReplicationFactorChange bool
	Topics                       []AlterPartitionReassignmentsTopic
}

// Fields is the wire order.
func (m *AlterPartitionReassignmentsRequest) Fields(c *codec.Cursor) {
	c.Int32("TimeoutMs", &m.TimeoutMs, "how long to wait for the answer, in ms")
	if c.Version >= 1 {
		c.Bool("AllowReplicationFactorChange", &m.AllowReplicationFactorChange, "partitions may get more or fewer replicas")
	} else {
		codec.Default(c, &m.AllowReplicationFactorChange, true)
	}
	codec.Array(c, "Topics", "ReassignableTopic", &m.Topics, "partitions by topic")
}

// AlterPartitionReassignmentsTopic is the partitions of one topic.
type AlterPartitionReassignmentsTopic struct {
	Name       string
	Partitions []AlterPartitionReassignmentsPartition
}

// Fields is the wire order.
func (m *AlterPartitionReassignmentsTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "ReassignablePartition", &m.Partitions, "partitions to move")
}

// AlterPartitionReassignmentsPartition is one partition to move.
type AlterPartitionReassignmentsPartition struct {
	PartitionIndex int32
	Replicas       []int32
}

// Fields is the wire order.
func (m *AlterPartitionReassignmentsPartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.NullInt32s("Replicas", 0, &m.Replicas, "brokers that shall hold it; null: stop moving it")
}

// AlterPartitionReassignmentsResponse tells which moves were begun.
type AlterPartitionReassignmentsResponse struct {
	ThrottleTimeMs               int32
	AllowReplicationFactorChange bool
	ErrorCode                    kafka.Code
	ErrorMessage                 *string
	Responses                    []AlterPartitionReassignmentsResponseTopic
}

// Fields is the wire order.
func (m *AlterPartitionReassignmentsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	if c.Version >= 1 {
		c.Bool("AllowReplicationFactorChange", &m.AllowReplicationFactorChange, "as it was asked")
	} else {
		codec.Default(c, &m.AllowReplicationFactorChange, true)
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.Array(c, "Responses", "ReassignableTopicResponse", &m.Responses, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *AlterPartitionReassignmentsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// AlterPartitionReassignmentsResponseTopic answers for one topic.
type AlterPartitionReassignmentsResponseTopic struct {
	Name       string
	Partitions []AlterPartitionReassignmentsResponsePartition
}

// Fields is the wire order.
func (m *AlterPartitionReassignmentsResponseTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "ReassignablePartitionResponse", &m.Partitions, "answers by partition")
}

// AlterPartitionReassignmentsResponsePartition answers for one partition.
type AlterPartitionReassignmentsResponsePartition struct {
	PartitionIndex int32
	ErrorCode      kafka.Code
	ErrorMessage   *string
}

// Fields is the wire order.
func (m *AlterPartitionReassignmentsResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
}
