package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// CreatePartitionsRequest adds partitions to topics (key 37, KIP-195).
type CreatePartitionsRequest struct {
	Topics       []CreatePartitionsTopic
	TimeoutMs    int32
	ValidateOnly bool
}

// Fields is the wire order.
func (m *CreatePartitionsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Topics", "CreatePartitionsTopic", &m.Topics, "topics to grow")
	c.Int32("TimeoutMs", &m.TimeoutMs, "how long to wait until they are there, in ms")
	c.Bool("ValidateOnly", &m.ValidateOnly, "check everything, make nothing")
}

// CreatePartitionsTopic is one topic to grow.
type CreatePartitionsTopic struct {
	Name        string
	Count       int32
	Assignments []CreatePartitionsAssignment
}

// Fields is the wire order.
func (m *CreatePartitionsTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	c.Int32("Count", &m.Count, "how many partitions it shall have")
	codec.NullArray(c, "Assignments", "CreatePartitionsAssignment", 0, &m.Assignments, "which brokers hold each new partition; null: the broker decides")
}

// CreatePartitionsAssignment places one new partition.
type CreatePartitionsAssignment struct {
	BrokerIDs []int32
}

// Fields is the wire order.
func (m *CreatePartitionsAssignment) Fields(c *codec.Cursor) {
	c.Int32s("BrokerIds", &m.BrokerIDs, "brokers that hold it")
}

// CreatePartitionsResponse answers for each topic.
type CreatePartitionsResponse struct {
	ThrottleTimeMs int32
	Results        []CreatePartitionsResponseResult
}

// Fields is the wire order.
func (m *CreatePartitionsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Results", "CreatePartitionsTopicResult", &m.Results, "one answer per topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *CreatePartitionsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// CreatePartitionsResponseResult answers for one topic.
type CreatePartitionsResponseResult struct {
	Name         string
	ErrorCode    kafka.Code
	ErrorMessage *string
}

// Fields is the wire order.
func (m *CreatePartitionsResponseResult) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this topic")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
}
