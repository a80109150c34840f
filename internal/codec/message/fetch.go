package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// FetchRequest reads records (key 1).
type FetchRequest struct {
	ReplicaID           int32
	MaxWaitMs           int32
	MinBytes            int32
	MaxBytes            int32
	IsolationLevel      int8
	SessionID           int32
	SessionEpoch        int32
	Topics              []FetchTopic
	ForgottenTopicsData []FetchForgottenTopic
	RackID              string
	ClusterID           *string
	ReplicaState        *FetchReplicaState
}

// Fields is the wire order.
func (m *FetchRequest) Fields(c *codec.Cursor) {
	if c.Version <= 14 {
		c.Int32("ReplicaId", &m.ReplicaID, "follower that asks; -1: a consumer")
	} else {
		codec.Default(c, &m.ReplicaID, -1)
	}
	c.Int32("MaxWaitMs", &m.MaxWaitMs, "how long to wait for MinBytes, in ms")
	c.Int32("MinBytes", &m.MinBytes, "answer once so many bytes are there")
	c.Int32("MaxBytes", &m.MaxBytes, "answer no more bytes, unless the first batch is larger")
	c.Int8("IsolationLevel", &m.IsolationLevel, "0: all records; 1: without those of open and aborted transactions")
	if c.Version >= 7 {
		c.Int32("SessionId", &m.SessionID, "fetch session (KIP-227); 0: none")
		c.Int32("SessionEpoch", &m.SessionEpoch, "number of the request in the session; 0: a new one; -1: none")
	} else {
		codec.Default(c, &m.SessionEpoch, -1)
	}
	codec.Array(c, "Topics", "FetchTopic", &m.Topics, "partitions to read; in a session those that changed")
	if c.Version >= 7 {
		codec.Array(c, "ForgottenTopicsData", "ForgottenTopic", &m.ForgottenTopicsData, "partitions that leave the session")
	}
	if c.Version >= 11 {
		c.String("RackId", &m.RackID, "rack of the consumer")
	}
	if c.Tag(0, m.ClusterID != nil) {
		c.NullString("ClusterId", 12, &m.ClusterID, "cluster the sender takes this for")
		c.EndTag()
	}
	if c.Version >= 15 && c.Tag(1, m.ReplicaState != nil) {
		codec.Struct(c, "ReplicaState", "ReplicaState", codec.Make(c, &m.ReplicaState), "follower that asks; absent: a consumer")
		c.EndTag()
	}
}

// Reset makes the message ready for another one.
func (m *FetchRequest) Reset() {
	*m = FetchRequest{Topics: kept(m.Topics), ForgottenTopicsData: kept(m.ForgottenTopicsData)}
}

// FetchReplicaState is a follower's identity.
type FetchReplicaState struct {
	ReplicaID    int32
	ReplicaEpoch int64
}

// Fields is the wire order.
func (m *FetchReplicaState) Fields(c *codec.Cursor) {
	c.Int32("ReplicaId", &m.ReplicaID, "number of the follower; -1: a consumer")
	c.Int64("ReplicaEpoch", &m.ReplicaEpoch, "epoch of the follower")
}

// FetchTopic is the partitions of one topic.
type FetchTopic struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []FetchPartition
}

// Fields is the wire order.
func (m *FetchTopic) Fields(c *codec.Cursor) {
	if c.Version <= 12 {
		c.String("Topic", &m.Topic, "name of the topic")
	} else {
		codec.Default(c, &m.Topic, "")
		c.UUID("TopicId", &m.TopicID, "id of the topic")
	}
	codec.Array(c, "Partitions", "FetchPartition", &m.Partitions, "partitions to read")
}

// Reset makes the topic ready for another one.
func (m *FetchTopic) Reset() {
	*m = FetchTopic{Topic: m.Topic, Partitions: kept(m.Partitions)}
}

// FetchPartition is one partition to read.
type FetchPartition struct {
	Partition          int32
	CurrentLeaderEpoch int32
	FetchOffset        int64
	LastFetchedEpoch   int32
	LogStartOffset     int64
	PartitionMaxBytes  int32
	ReplicaDirectoryID kafka.TopicID
	HighWatermark      *int64
}

// Fields is the wire order.
func (m *FetchPartition) Fields(c *codec.Cursor) {
	c.Int32("Partition", &m.Partition, "number of the partition")
	if c.Version >= 9 {
		c.Int32("CurrentLeaderEpoch", &m.CurrentLeaderEpoch, "leader epoch the client knows; -1: none")
	} else {
		codec.Default(c, &m.CurrentLeaderEpoch, -1)
	}
	c.Int64("FetchOffset", &m.FetchOffset, "offset to read from")
	if c.Version >= 12 {
		c.Int32("LastFetchedEpoch", &m.LastFetchedEpoch, "epoch of the last record a follower has; -1: none")
	} else {
		codec.Default(c, &m.LastFetchedEpoch, -1)
	}
	if c.Version >= 5 {
		c.Int64("LogStartOffset", &m.LogStartOffset, "first offset a follower has; -1: a consumer")
	} else {
		codec.Default(c, &m.LogStartOffset, -1)
	}
	c.Int32("PartitionMaxBytes", &m.PartitionMaxBytes, "no more bytes of this partition")
	if c.Version >= 17 && c.Tag(0, !m.ReplicaDirectoryID.IsZero()) {
		c.UUID("ReplicaDirectoryId", &m.ReplicaDirectoryID, "folder of the follower")
		c.EndTag()
	}
	if c.Version >= 18 && c.Tag(1, m.HighWatermark != nil) {
		c.Int64("HighWatermark", codec.Make(c, &m.HighWatermark), "high watermark the follower knows; absent: unknown")
		c.EndTag()
	}
}

// FetchForgottenTopic is partitions that leave a session.
type FetchForgottenTopic struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []int32
}

// Fields is the wire order.
func (m *FetchForgottenTopic) Fields(c *codec.Cursor) {
	if c.Version <= 12 {
		c.String("Topic", &m.Topic, "name of the topic")
	} else {
		c.UUID("TopicId", &m.TopicID, "id of the topic")
	}
	c.Int32s("Partitions", &m.Partitions, "numbers of the partitions")
}

// FetchResponse carries records.
type FetchResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	SessionID      int32
	Responses      []FetchResponseTopic
	NodeEndpoints  []NodeEndpoint
}

// Fields is the wire order.
func (m *FetchResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	if c.Version >= 7 {
		c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
		c.Int32("SessionId", &m.SessionID, "fetch session; 0: none")
	}
	codec.Array(c, "Responses", "FetchableTopicResponse", &m.Responses, "records by topic")
	if c.Version >= 16 && c.Tag(0, len(m.NodeEndpoints) > 0) {
		codec.Array(c, "NodeEndpoints", "NodeEndpoint", &m.NodeEndpoints, "addresses of the leaders named above")
		c.EndTag()
	}
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *FetchResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// FetchResponseTopic is the records of one topic.
type FetchResponseTopic struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []FetchResponsePartition
}

// Fields is the wire order.
func (m *FetchResponseTopic) Fields(c *codec.Cursor) {
	if c.Version <= 12 {
		c.String("Topic", &m.Topic, "name of the topic")
	} else {
		c.UUID("TopicId", &m.TopicID, "id of the topic")
	}
	codec.Array(c, "Partitions", "PartitionData", &m.Partitions, "records by partition")
}

// FetchResponsePartition is the records of one partition.
type FetchResponsePartition struct {
	PartitionIndex       int32
	ErrorCode            kafka.Code
	HighWatermark        int64
	LastStableOffset     int64
	LogStartOffset       int64
	AbortedTransactions  []FetchResponseAbortedTransaction
	PreferredReadReplica int32
	Records              codec.Records
	DivergingEpoch       *FetchResponseEpochEndOffset
	CurrentLeader        *LeaderIDAndEpoch
	SnapshotID           *FetchResponseSnapshotID
}

// Fields is the wire order.
func (m *FetchResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.Int64("HighWatermark", &m.HighWatermark, "end of what consumers may see; -1 with an error")
	c.Int64("LastStableOffset", &m.LastStableOffset, "end of what is not in an open transaction; -1 with an error")
	if c.Version >= 5 {
		c.Int64("LogStartOffset", &m.LogStartOffset, "first offset of the log; -1 with an error")
	} else {
		codec.Default(c, &m.LogStartOffset, -1)
	}
	codec.NullArray(c, "AbortedTransactions", "AbortedTransaction", 4, &m.AbortedTransactions, "transactions to leave out; null: all records are asked for")
	if c.Version >= 11 {
		c.Int32("PreferredReadReplica", &m.PreferredReadReplica, "replica to read from instead; -1: none")
	} else {
		codec.Default(c, &m.PreferredReadReplica, -1)
	}
	c.Records("Records", &m.Records, "whole record batches")
	if c.Tag(0, m.DivergingEpoch != nil) {
		codec.Struct(c, "DivergingEpoch", "EpochEndOffset", codec.Make(c, &m.DivergingEpoch), "where the follower's log leaves this one")
		c.EndTag()
	}
	if c.Tag(1, m.CurrentLeader != nil) {
		codec.Struct(c, "CurrentLeader", "LeaderIdAndEpoch", codec.Make(c, &m.CurrentLeader), "who leads the partition now")
		c.EndTag()
	}
	if c.Tag(2, m.SnapshotID != nil) {
		codec.Struct(c, "SnapshotId", "SnapshotId", codec.Make(c, &m.SnapshotID), "snapshot to fetch instead")
		c.EndTag()
	}
}

// FetchResponseEpochEndOffset is where a leader epoch ends.
type FetchResponseEpochEndOffset struct {
	Epoch     int32
	EndOffset int64
}

// Fields is the wire order.
func (m *FetchResponseEpochEndOffset) Fields(c *codec.Cursor) {
	c.Int32("Epoch", &m.Epoch, "leader epoch")
	c.Int64("EndOffset", &m.EndOffset, "offset where it ends")
}

// FetchResponseSnapshotID names a snapshot.
type FetchResponseSnapshotID struct {
	EndOffset int64
	Epoch     int32
}

// Fields is the wire order.
func (m *FetchResponseSnapshotID) Fields(c *codec.Cursor) {
	c.Int64("EndOffset", &m.EndOffset, "end of what it holds")
	c.Int32("Epoch", &m.Epoch, "leader epoch of its end")
}

// FetchResponseAbortedTransaction is one transaction to leave out.
type FetchResponseAbortedTransaction struct {
	ProducerID  int64
	FirstOffset int64
}

// Fields is the wire order.
func (m *FetchResponseAbortedTransaction) Fields(c *codec.Cursor) {
	c.Int64("ProducerId", &m.ProducerID, "producer of the transaction")
	c.Int64("FirstOffset", &m.FirstOffset, "its first offset")
}
