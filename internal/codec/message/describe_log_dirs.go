package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// DescribeLogDirsRequest asks how large partitions are on disk (key 35, KIP-113).
type DescribeLogDirsRequest struct {
	Topics []DescribeLogDirsTopic
}

// Fields is the wire order.
func (m *DescribeLogDirsRequest) Fields(c *codec.Cursor) {
	codec.NullArray(c, "Topics", "DescribableLogDirTopic", 0, &m.Topics, "partitions asked for; null: all")
}

// DescribeLogDirsTopic names partitions of one topic.
type DescribeLogDirsTopic struct {
	Topic      string
	Partitions []int32
}

// Fields is the wire order.
func (m *DescribeLogDirsTopic) Fields(c *codec.Cursor) {
	c.String("Topic", &m.Topic, "name of the topic")
	c.Int32s("Partitions", &m.Partitions, "their numbers")
}

// DescribeLogDirsResponse tells the folders that hold logs.
type DescribeLogDirsResponse struct {
	ThrottleTimeMs int32
	ErrorCode      kafka.Code
	Results        []DescribeLogDirsResponseResult
}

// Fields is the wire order.
func (m *DescribeLogDirsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	if c.Version >= 3 {
		c.ErrorCode("ErrorCode", &m.ErrorCode, "error of the whole request")
	}
	codec.Array(c, "Results", "DescribeLogDirsResult", &m.Results, "one for each folder")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *DescribeLogDirsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// DescribeLogDirsResponseResult is one folder.
type DescribeLogDirsResponseResult struct {
	ErrorCode   kafka.Code
	LogDir      string
	Topics      []DescribeLogDirsResponseTopic
	TotalBytes  int64
	UsableBytes int64
	IsCordoned  bool
}

// Fields is the wire order.
func (m *DescribeLogDirsResponseResult) Fields(c *codec.Cursor) {
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this folder")
	c.String("LogDir", &m.LogDir, "absolute path of the folder")
	codec.Array(c, "Topics", "DescribeLogDirsTopic", &m.Topics, "what it holds, by topic")
	if c.Version >= 4 {
		c.Int64("TotalBytes", &m.TotalBytes, "size of the disk, in bytes; -1: unknown")
	} else {
		codec.Default(c, &m.TotalBytes, -1)
	}
	if c.Version >= 4 {
		c.Int64("UsableBytes", &m.UsableBytes, "what is free of it, in bytes; -1: unknown")
	} else {
		codec.Default(c, &m.UsableBytes, -1)
	}
	if c.Version >= 5 {
		c.Bool("IsCordoned", &m.IsCordoned, "it takes no new partitions")
	}
}

// DescribeLogDirsResponseTopic is the partitions of one topic.
type DescribeLogDirsResponseTopic struct {
	Name       string
	Partitions []DescribeLogDirsResponsePartition
}

// Fields is the wire order.
func (m *DescribeLogDirsResponseTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	codec.Array(c, "Partitions", "DescribeLogDirsPartition", &m.Partitions, "its partitions")
}

// DescribeLogDirsResponsePartition is one partition.
type DescribeLogDirsResponsePartition struct {
	PartitionIndex int32
	PartitionSize  int64
	OffsetLag      int64
	IsFutureKey    bool
}

// Fields is the wire order.
func (m *DescribeLogDirsResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.Int64("PartitionSize", &m.PartitionSize, "size of its segments, in bytes")
	c.Int64("OffsetLag", &m.OffsetLag, "how many offsets it is behind; 0 where it leads")
	c.Bool("IsFutureKey", &m.IsFutureKey, "it is a copy on its way to another folder")
}
