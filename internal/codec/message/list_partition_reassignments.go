package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// ListPartitionReassignmentsRequest asks which partitions are being moved (key 46,
// KIP-455).
type ListPartitionReassignmentsRequest struct {
	TimeoutMs int32
	Topics    []ListPartitionReassignmentsTopic
}

// Fields is the wire order.
func (m *ListPartitionReassignmentsRequest) Fields(c *codec.Cursor) {
	c.Int32("TimeoutMs", &m.TimeoutMs, "how long to wait for the answer, in ms")
	codec.NullArray(c, "Topics", "ListPartitionReassignmentsTopics", 0, &m.Topics, "partitions by topic; null: all")
}

// ListPartitionReassignmentsTopic names partitions of one topic.
type ListPartitionReassignmentsTopic struct {
	Name             string
	PartitionIndexes []int32
}

// Fields is the wire order.
func (m *ListPartitionReassignmentsTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	c.Int32s("PartitionIndexes", &m.PartitionIndexes, "their numbers")
}

// ListPartitionReassignmentsResponse tells the moves under way.
type ListPartitionReassignmentsResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	ErrorMessage   *string
	Topics         []ListPartitionReassignmentsResponseTopic
}

// Fields is the wire order.
func (m *ListPartitionReassignmentsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	codec.Array(c, "Topics", "OngoingTopicReassignment", &m.Topics, "moves by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *ListPartitionReassignmentsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// ListPartitionReassignmentsResponseTopic is the moves of one topic.
type ListPartitionReassignmentsResponseTopic struct {
	Name       string
	Partitions []ListPartitionReassignmentsResponsePartition
}

// Fields is the wire order.
func (m *ListPartitionReassignmentsResponseTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "OngoingPartitionReassignment", &m.Partitions, "moves by partition")
}

// ListPartitionReassignmentsResponsePartition is one move.
type ListPartitionReassignmentsResponsePartition struct {
	PartitionIndex   int32
	Replicas         []int32
	AddingReplicas   []int32
	RemovingReplicas []int32
}

// Fields is the wire order.
func (m *ListPartitionReassignmentsResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int32s("Replicas", &m.Replicas, "brokers that hold it")
	c.Int32s("AddingReplicas", &m.AddingReplicas, "brokers that are to hold it")
	c.Int32s("RemovingReplicas", &m.RemovingReplicas, "brokers that are to let go of it")
}
