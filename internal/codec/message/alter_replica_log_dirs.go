package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// AlterReplicaLogDirsRequest moves partitions to other folders (key 34, KIP-113).
type AlterReplicaLogDirsRequest struct {
	Dirs []AlterReplicaLogDirsDir
}

// Fields is the wire order.
func (m *AlterReplicaLogDirsRequest) Fields(c *codec.Cursor) {
	codec.Array(c, "Dirs", "AlterReplicaLogDir", &m.Dirs, "what is to be where")
}

// AlterReplicaLogDirsDir is what shall be in one folder.
type AlterReplicaLogDirsDir struct {
	Path   string
	Topics []AlterReplicaLogDirsTopic
}

// Fields is the wire order.
func (m *AlterReplicaLogDirsDir) Fields(c *codec.Cursor) {
	c.String("Path", &m.Path, "absolute path of the folder")
	codec.Array(c, "Topics", "AlterReplicaLogDirTopic", &m.Topics, "partitions by topic")
}

// AlterReplicaLogDirsTopic names partitions of one topic.
type AlterReplicaLogDirsTopic struct {
	Name       string
	Partitions []int32
}

// Fields is the wire order.
func (m *AlterReplicaLogDirsTopic) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the topic")
	c.Int32s("Partitions", &m.Partitions, "their numbers")
}

// AlterReplicaLogDirsResponse tells which moves were begun.
type AlterReplicaLogDirsResponse struct {
	ThrottleTimeMs int32
	Results        []AlterReplicaLogDirsResponseTopic
}

// Fields is the wire order.
func (m *AlterReplicaLogDirsResponse) Fields(c *codec.Cursor) {
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	codec.Array(c, "Results", "AlterReplicaLogDirTopicResult", &m.Results, "answers by topic")
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *AlterReplicaLogDirsResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// AlterReplicaLogDirsResponseTopic answers for one topic.
type AlterReplicaLogDirsResponseTopic struct {
	TopicName  string
	Partitions []AlterReplicaLogDirsResponsePartition
}

// Fields is the wire order.
func (m *AlterReplicaLogDirsResponseTopic) Fields(c *codec.Cursor) {
	c.String("TopicName", &m.TopicName, "name of the topic")
	codec.Array(c, "Partitions", "AlterReplicaLogDirPartitionResult", &m.Partitions, "answers by partition")
}

// AlterReplicaLogDirsResponsePartition answers for one partition.
type AlterReplicaLogDirsResponsePartition struct {
	PartitionIndex int32
	ErrorCode      kafka.Code
}

// Fields is the wire order.
func (m *AlterReplicaLogDirsResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("PartitionIndex", &m.PartitionIndex, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
}
