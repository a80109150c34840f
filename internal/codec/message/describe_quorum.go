package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeQuorumRequest asks who keeps the metadata (key 55, KIP-595, KIP-836,
// KIP-853).
type DescribeQuorumRequest struct {
	Topics []DescribeQuorumTopic
}

// Fields is the wire order.
func (m *DescribeQuorumRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Topics", "TopicData", &m.Topics, "partitions by topic")
}

// DescribeQuorumTopic names partitions of one topic.
type DescribeQuorumTopic struct {
	TopicName  string
	Partitions []DescribeQuorumPartition
}

// Fields is the wire order.
func (m *DescribeQuorumTopic) Fields(c *codec.Cursor) {
	c.String("TopicName", &m.TopicName, "name of the topic")
	codec.Array(c, "Partitions", "PartitionData", &m.Partitions, "its partitions")
}

// DescribeQuorumPartition names one partition.
type DescribeQuorumPartition struct {
	PartitionIndex int32
}

// Fields is the wire order.
func (m *DescribeQuorumPartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
}

// DescribeQuorumResponse tells the voters and observers of a quorum.
type DescribeQuorumResponse struct {
	ErrorCode    kafka.Code
	ErrorMessage *string
	Topics       []DescribeQuorumResponseTopic
	Nodes        []DescribeQuorumResponseNode
}

// Fields is the wire order.
func (m *DescribeQuorumResponse) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	if c.Version >= 2 {
		c.NullString("ErrorMessage", 2, &m.ErrorMessage, "what is wrong, for people")
	}
	codec.Array(c, "Topics", "TopicData", &m.Topics, "answers by topic")
	if c.Version >= 2 {
		codec.Array(c, "Nodes", "Node", &m.Nodes, "where the voters listen")
	}
}

// DescribeQuorumResponseTopic answers for one topic.
type DescribeQuorumResponseTopic struct {
	TopicName  string
	Partitions []DescribeQuorumResponsePartition
}

// Fields is the wire order.
func (m *DescribeQuorumResponseTopic) Fields(c *codec.Cursor) {
	c.String("TopicName", &m.TopicName, "name of the topic")
	codec.Array(c, "Partitions", "PartitionData", &m.Partitions, "answers by partition")
}

// DescribeQuorumResponsePartition answers for one partition.
type DescribeQuorumResponsePartition struct {
	PartitionIndex int32
	ErrorCode      kafka.Code
	ErrorMessage   *string
	LeaderID       int32
	LeaderEpoch    int32
	HighWatermark  int64
	CurrentVoters  []DescribeQuorumResponseReplica
	Observers      []DescribeQuorumResponseReplica
}

// Fields is the wire order.
func (m *DescribeQuorumResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	if c.Version >= 2 {
		c.NullString("ErrorMessage", 2, &m.ErrorMessage, "what is wrong, for people")
	}
	c.Int32("LeaderId", &m.LeaderID, "node that leads")
	c.Int32("LeaderEpoch", &m.LeaderEpoch, "epoch of that leader")
	c.Int64("HighWatermark", &m.HighWatermark, "offset up to which all is settled")
	codec.Array(c, "CurrentVoters", "ReplicaState", &m.CurrentVoters, "nodes that vote")
	codec.Array(c, "Observers", "ReplicaState", &m.Observers, "nodes that follow without a vote")
}

// DescribeQuorumResponseReplica is one node of a quorum.
type DescribeQuorumResponseReplica struct {
	ReplicaID             int32
	ReplicaDirectoryID    kafka.TopicID
	LogEndOffset          int64
	LastFetchTimestamp    int64
	LastCaughtUpTimestamp int64
}

// Fields is the wire order.
func (m *DescribeQuorumResponseReplica) Fields(c *codec.Cursor) {
	c.Int32("ReplicaId", &m.ReplicaID, "number of the node")
	if c.Version >= 2 {
		c.UUID("ReplicaDirectoryId", &m.ReplicaDirectoryID, "id of the folder it keeps the log in; zero: none")
	}
	c.Int64("LogEndOffset", &m.LogEndOffset, "end of its log; -1: unknown")
	if c.Version >= 1 {
		c.Int64("LastFetchTimestamp", &m.LastFetchTimestamp, "when it last fetched, in ms; -1: unknown")
	} else {
		codec.Default(c, &m.LastFetchTimestamp, -1)
	}
	if c.Version >= 1 {
		c.Int64("LastCaughtUpTimestamp", &m.LastCaughtUpTimestamp, "when it last had all there was, in ms; -1: unknown")
	} else {
		codec.Default(c, &m.LastCaughtUpTimestamp, -1)
	}
}

// DescribeQuorumResponseNode is where one node listens.
type DescribeQuorumResponseNode struct {
	NodeID    int32
	Listeners []DescribeQuorumResponseListener
}

// Fields is the wire order.
func (m *DescribeQuorumResponseNode) Fields(c *codec.Cursor) {
	c.Int32("NodeId", &m.NodeID, "number of the node")
	codec.Array(c, "Listeners", "Listener", &m.Listeners, "its listeners")
}

// DescribeQuorumResponseListener is one listener.
type DescribeQuorumResponseListener struct {
	Name string
	Host string
	Port uint16
}

// Fields is the wire order.
func (m *DescribeQuorumResponseListener) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the listener")
	c.String("Host", &m.Host, "host name to connect to")
	c.Uint16("Port", &m.Port, "port to connect to")
}
