package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// OffsetFetchRequest asks for committed offsets (key 9): of one group, or from
// version 8 on of several (KIP-709). From version 10 on topics are named by id
// (KIP-848).
type OffsetFetchRequest struct {
	GroupID       string
	Topics        []OffsetFetchTopic
	Groups        []OffsetFetchGroup
	RequireStable bool
}

// Fields is the wire order.
func (m *OffsetFetchRequest) Fields(c *codec.Cursor) {
	if c.Version <= 7 {
		c.String("GroupId", &m.GroupID, "name of the group")
		codec.NullArray(c, "Topics", "OffsetFetchRequestTopic", 2, &m.Topics, "partitions by topic; null: all that have an offset")
	} else {
		codec.Array(c, "Groups", "OffsetFetchRequestGroup", &m.Groups, "groups to tell offsets of")
	}
	if c.Version >= 7 {
		c.Bool("RequireStable", &m.RequireStable, "rather fail than tell an offset that an open transaction may change")
	}
}

// OffsetFetchGroup is one group to tell offsets of.
type OffsetFetchGroup struct {
	GroupID     string
	MemberID    *string
	MemberEpoch int32
	Topics      []OffsetFetchTopic
}

// Fields is the wire order.
func (m *OffsetFetchGroup) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	if c.Version >= 9 {
		c.NullString("MemberId", 9, &m.MemberID, "id of the member that asks; null: nobody's")
		c.Int32("MemberEpoch", &m.MemberEpoch, "epoch of the member that asks; -1: none")
	} else {
		codec.Default(c, &m.MemberEpoch, -1)
	}
	codec.NullArray(c, "Topics", "OffsetFetchRequestTopics", 8, &m.Topics, "partitions by topic; null: all that have an offset")
}

// OffsetFetchTopic is the partitions of one topic.
type OffsetFetchTopic struct {
	Name             string
	TopicID          kafka.TopicID
	PartitionIndexes []int32
}

// Fields is the wire order.
func (m *OffsetFetchTopic) Fields(c *codec.Cursor) {
	if c.Version <= 9 {
		c.String("Name", &m.Name, "name of the topic")
	} else {
		c.UUID("TopicId", &m.TopicID, "id of the topic")
	}
	c.Int32s("PartitionIndexes", &m.PartitionIndexes, "numbers of the partitions")
}

// OffsetFetchResponse tells committed offsets.
type OffsetFetchResponse struct {
	ThrottleTimeMs int32
	Topics         []OffsetFetchResponseTopic
	ErrorCode      kafka.Code
	Groups         []OffsetFetchResponseGroup
}

// Fields is the wire order.
func (m *OffsetFetchResponse) Fields(c *codec.Cursor) {
	if c.Version >= 3 {
		c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	}
	if c.Version >= 8 {
		codec.Array(c, "Groups", "OffsetFetchResponseGroup", &m.Groups, "answers by group")
		return
	}
	codec.Array(c, "Topics", "OffsetFetchResponseTopic", &m.Topics, "offsets by topic")
	if c.Version >= 2 {
		c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the group")
	}
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *OffsetFetchResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// OffsetFetchResponseGroup answers for one group.
type OffsetFetchResponseGroup struct {
	GroupID   string
	Topics    []OffsetFetchResponseTopic
	ErrorCode kafka.Code
}

// Fields is the wire order.
func (m *OffsetFetchResponseGroup) Fields(c *codec.Cursor) {
	c.String("GroupId", &m.GroupID, "name of the group")
	codec.Array(c, "Topics", "OffsetFetchResponseTopics", &m.Topics, "offsets by topic")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this group")
}

// OffsetFetchResponseTopic is the offsets of one topic.
type OffsetFetchResponseTopic struct {
	Name       string
	TopicID    kafka.TopicID
	Partitions []OffsetFetchResponsePartition
}

// Fields is the wire order.
func (m *OffsetFetchResponseTopic) Fields(c *codec.Cursor) {
	if c.Version <= 9 {
		c.String("Name", &m.Name, "name of the topic")
	} else {
		c.UUID("TopicId", &m.TopicID, "id of the topic")
	}
	codec.Array(c, "Partitions", "OffsetFetchResponsePartition", &m.Partitions, "offsets by partition")
}

// OffsetFetchResponsePartition is the offset of one partition.
type OffsetFetchResponsePartition struct {
	PartitionIndex       int32
	CommittedOffset      int64
	CommittedLeaderEpoch int32
	Metadata             *string
	ErrorCode            kafka.Code
}

// Fields is the wire order.
func (m *OffsetFetchResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int64("CommittedOffset", &m.CommittedOffset, "offset of the record to read next; -1: none is committed")
	if c.Version >= 5 {
		c.Int32("CommittedLeaderEpoch", &m.CommittedLeaderEpoch, "leader epoch of the record before it; -1: unknown")
	} else {
		codec.Default(c, &m.CommittedLeaderEpoch, -1)
	}
	c.NullString("Metadata", 0, &m.Metadata, "what the client had kept beside the offset")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
}
