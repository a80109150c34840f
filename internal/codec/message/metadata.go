package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// MetadataRequest asks for brokers and topics (key 3).
type MetadataRequest struct {
	Topics                             []MetadataRequestTopic
	AllowAutoTopicCreation             bool
	IncludeClusterAuthorizedOperations bool
	IncludeTopicAuthorizedOperations   bool
}

// Fields is the wire order.
func (m *MetadataRequest) Fields(c *codec.Cursor) {
	codec.NullArray(c, "Topics", "MetadataRequestTopic", 1, &m.Topics, "topics asked for; null: all; empty: all in version 0, none later")
	if c.Version >= 4 {
		c.Bool("AllowAutoTopicCreation", &m.AllowAutoTopicCreation, "make topics that do not exist")
	} else {
		codec.Default(c, &m.AllowAutoTopicCreation, true)
	}
	if c.Version >= 8 && c.Version <= 10 {
		c.Bool("IncludeClusterAuthorizedOperations", &m.IncludeClusterAuthorizedOperations, "tell what the caller may do with the cluster")
	}
	if c.Version >= 8 {
		c.Bool("IncludeTopicAuthorizedOperations", &m.IncludeTopicAuthorizedOperations, "tell what the caller may do with each topic")
	}
}

// MetadataRequestTopic names one topic.
type MetadataRequestTopic struct {
	TopicID kafka.TopicID
	Name    *string
}

// Fields is the wire order.
func (m *MetadataRequestTopic) Fields(c *codec.Cursor) {
	if c.Version >= 10 {
		c.UUID("TopicId", &m.TopicID, "id of the topic; zero: asked for by name")
	}
	c.NullString("Name", 10, &m.Name, "name of the topic; null: asked for by id")
}

// MetadataResponse tells brokers and topics.
type MetadataResponse struct {
	ThrottleTimeMs              int32
	Brokers                     []MetadataResponseBroker
	ClusterID                   *string
	ControllerID                int32
	Topics                      []MetadataResponseTopic
	ClusterAuthorizedOperations int32
	ErrorCode                   kafka.Code
}

// Fields is the wire order.
func (m *MetadataResponse) Fields(c *codec.Cursor) {
	if c.Version >= 3 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	codec.Array(c, "Brokers", "MetadataResponseBroker", &m.Brokers, "every broker, as clients of this listener reach it")
	if c.Version >= 2 {
		c.NullString("ClusterId", 2, &m.ClusterID, "id of the cluster")
	}
	if c.Version >= 1 {
		c.Int32("ControllerId", &m.ControllerID, "broker that takes admin requests")
	} else {
		codec.Default(c, &m.ControllerID, -1)
	}
	codec.Array(c, "Topics", "MetadataResponseTopic", &m.Topics, "the topics asked for")
	if c.Version >= 8 && c.Version <= 10 {
		c.Int32("ClusterAuthorizedOperations", &m.ClusterAuthorizedOperations, "bits of what the caller may do with the cluster; int32 minimum: not asked")
	} else {
		codec.Default(c, &m.ClusterAuthorizedOperations, NoOperations)
	}
	if c.Version >= 13 {
		c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	}
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *MetadataResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// MetadataResponseBroker is one broker.
type MetadataResponseBroker struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   *string
}

// Fields is the wire order.
func (m *MetadataResponseBroker) Fields(c *codec.Cursor) {
	c.Int32("NodeId", &m.NodeID, "number of the broker")
	c.String("Host", &m.Host, "host name to connect to")
	c.Int32("Port", &m.Port, "port to connect to")
	if c.Version >= 1 {
		c.NullString("Rack", 1, &m.Rack, "rack of the broker")
	}
}

// MetadataResponseTopic is one topic.
type MetadataResponseTopic struct {
	ErrorCode                 kafka.Code
	Name                      *string
	TopicID                   kafka.TopicID
	IsInternal                bool
	Partitions                []MetadataResponsePartition
	TopicAuthorizedOperations int32
}

// Fields is the wire order.
func (m *MetadataResponseTopic) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this topic")
	c.NullString("Name", 12, &m.Name, "name of the topic; null: unknown id")
	if c.Version >= 10 {
		c.UUID("TopicId", &m.TopicID, "id of the topic; zero: none")
	}
	if c.Version >= 1 {
		c.Bool("IsInternal", &m.IsInternal, "the topic is the broker's own")
	}
	codec.Array(c, "Partitions", "MetadataResponsePartition", &m.Partitions, "partitions of the topic")
	if c.Version >= 8 {
		c.Int32("TopicAuthorizedOperations", &m.TopicAuthorizedOperations, "bits of what the caller may do with the topic; int32 minimum: not asked")
	} else {
		codec.Default(c, &m.TopicAuthorizedOperations, NoOperations)
	}
}

// MetadataResponsePartition is one partition.
type MetadataResponsePartition struct {
	ErrorCode       kafka.Code
	PartitionIndex  int32
	LeaderID        int32
	LeaderEpoch     int32
	ReplicaNodes    []int32
	IsrNodes        []int32
	OfflineReplicas []int32
}

// Fields is the wire order.
func (m *MetadataResponsePartition) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int32("LeaderId", &m.LeaderID, "broker that leads it; -1: none")
	if c.Version >= 7 {
		c.Int32("LeaderEpoch", &m.LeaderEpoch, "epoch of that leader")
	} else {
		codec.Default(c, &m.LeaderEpoch, -1)
	}
	c.Int32s("ReplicaNodes", &m.ReplicaNodes, "brokers that hold it")
	c.Int32s("IsrNodes", &m.IsrNodes, "brokers that hold all of it")
	if c.Version >= 5 {
		c.Int32s("OfflineReplicas", &m.OfflineReplicas, "brokers that hold it and are away")
	}
}
