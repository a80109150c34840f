package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// CreateTopicsRequest makes topics (key 19).
type CreateTopicsRequest struct {
	Topics       []CreateTopicsTopic
	TimeoutMs    int32
	ValidateOnly bool
}

// Fields is the wire order.
func (m *CreateTopicsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Topics", "CreatableTopic", &m.Topics, "topics to make")
	c.Int32("timeoutMs", &m.TimeoutMs, "how long to wait until they are there, in ms")
	c.Bool("validateOnly", &m.ValidateOnly, "check everything, make nothing")
}

// CreateTopicsTopic is one topic to make.
type CreateTopicsTopic struct {
	Name              string
	NumPartitions     int32
	ReplicationFactor int16
	Assignments       []CreateTopicsAssignment
	Configs           []CreateTopicsConfig
}

// Fields is the wire order.
func (m *CreateTopicsTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	c.Int32("NumPartitions", &m.NumPartitions, "how many partitions; -1: the broker's default, or as assigned")
	c.Int16("ReplicationFactor", &m.ReplicationFactor, "how many replicas of each; -1: the broker's default, or as assigned")
	codec.Array(c, "Assignments", "CreatableReplicaAssignment", &m.Assignments, "which brokers hold which partition; empty: the broker decides")
	codec.Array(c, "Configs", "CreatableTopicConfig", &m.Configs, "configs of the topic")
}

// CreateTopicsAssignment places one partition.
type CreateTopicsAssignment struct {
	PartitionIndex int32
	BrokerIDs      []int32
}

// Fields is the wire order.
func (m *CreateTopicsAssignment) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int32s("BrokerIds", &m.BrokerIDs, "brokers that hold it")
}

// CreateTopicsConfig is one config of a new topic.
type CreateTopicsConfig struct {
	Name  string
	Value *string
}

// Fields is the wire order.
func (m *CreateTopicsConfig) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the config")
	c.NullString("Value", 0, &m.Value, "value of the config")
}

// CreateTopicsResponse tells which topics were made.
type CreateTopicsResponse struct {
	ThrottleTimeMs int32
	Topics         []CreateTopicsResponseTopic
}

// Fields is the wire order.
func (m *CreateTopicsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Topics", "CreatableTopicResult", &m.Topics, "one answer per topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *CreateTopicsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// CreateTopicsResponseTopic answers for one topic.
type CreateTopicsResponseTopic struct {
	Name                 string
	TopicID              kafka.TopicID
	ErrorCode            kafka.Code
	ErrorMessage         *string
	NumPartitions        int32
	ReplicationFactor    int16
	Configs              []CreateTopicsResponseConfig
	TopicConfigErrorCode kafka.Code
}

// Fields is the wire order.
func (m *CreateTopicsResponseTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	if c.Version >= 7 {
		c.UUID("TopicId", &m.TopicID, "id of the topic; zero with an error")
	}
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this topic")
	c.NullString("ErrorMessage", 0, &m.ErrorMessage, "what is wrong, for people")
	if c.Version >= 5 {
		c.Int32("NumPartitions", &m.NumPartitions, "how many partitions it has; -1 with an error")
		c.Int16("ReplicationFactor", &m.ReplicationFactor, "how many replicas of each; -1 with an error")
		codec.NullArray(c, "Configs", "CreatableTopicConfigs", 5, &m.Configs, "configs of the topic; null with an error")
	} else {
		codec.Default(c, &m.NumPartitions, -1)
		codec.Default(c, &m.ReplicationFactor, -1)
	}
	if c.Tag(0, m.TopicConfigErrorCode != kafka.NoError) {
		c.ErrorCode("TopicConfigErrorCode", &m.TopicConfigErrorCode, "why the configs are not told")
		c.EndTag()
	}
}

// CreateTopicsResponseConfig is one config of a new topic.
type CreateTopicsResponseConfig struct {
	Name         string
	Value        *string
	ReadOnly     bool
	ConfigSource int8
	IsSensitive  bool
}

// Fields is the wire order.
func (m *CreateTopicsResponseConfig) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the config")
	c.NullString("Value", 0, &m.Value, "value of the config")
	c.Bool("ReadOnly", &m.ReadOnly, "it cannot be changed")
	c.Int8("ConfigSource", &m.ConfigSource, "where the value comes from: 1 topic, 2 broker, 3 broker default, 4 static, 5 default")
	c.Bool("IsSensitive", &m.IsSensitive, "the value is secret and not told")
}
