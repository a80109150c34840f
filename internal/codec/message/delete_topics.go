package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DeleteTopicsRequest removes topics (key 20).
type DeleteTopicsRequest struct {
	Topics     []DeleteTopicsTopic
	TopicNames []string
	TimeoutMs  int32
}

// Fields is the wire order.
func (m *DeleteTopicsRequest) Fields(c *codec.Cursor) {
	if c.Version >= 6 {
		codec.Array(c, "Topics", "DeleteTopicState", &m.Topics, "topics to remove")
	}
	if c.Version <= 5 {
		c.Strings("TopicNames", &m.TopicNames, "names of the topics to remove")
	}
	c.Int32("TimeoutMs", &m.TimeoutMs, "how long to wait until they are gone, in ms")
}

// DeleteTopicsTopic is one topic to remove.
type DeleteTopicsTopic struct {
	Name    *string
	TopicID kafka.TopicID
}

// Fields is the wire order.
func (m *DeleteTopicsTopic) Fields(c *codec.Cursor) {
	c.NullString("Name", 6, &m.Name, "name of the topic; null: given by id")
	c.UUID("TopicId", &m.TopicID, "id of the topic; zero: given by name")
}

// DeleteTopicsResponse tells which topics were removed.
type DeleteTopicsResponse struct {
	ThrottleTimeMs int32
	Responses      []DeleteTopicsResponseTopic
}

// Fields is the wire order.
func (m *DeleteTopicsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Responses", "DeletableTopicResult", &m.Responses, "one answer per topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DeleteTopicsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DeleteTopicsResponseTopic answers for one topic.
type DeleteTopicsResponseTopic struct {
	Name         *string
	TopicID      kafka.TopicID
	ErrorCode    kafka.Code
	ErrorMessage *string
}

// Fields is the wire order.
func (m *DeleteTopicsResponseTopic) Fields(c *codec.Cursor) {
	c.NullString("Name", 6, &m.Name, "name of the topic; null: unknown")
	if c.Version >= 6 {
		c.UUID("TopicId", &m.TopicID, "id of the topic; zero: unknown")
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this topic")
	if c.Version >= 5 {
		c.NullString("ErrorMessage", 5, &m.ErrorMessage, "what is wrong, for people")
	}
}
