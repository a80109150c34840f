package message

import (
	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// ProduceRequest appends record batches (key 0).
type ProduceRequest struct {
	TransactionalID *string
	Acks            int16
	TimeoutMs       int32
	TopicData       []ProduceTopic
}

// Fields is the wire order.
func (m *ProduceRequest) Fields(c *codec.Cursor) {
	c.NullString("TransactionalId", 3, &m.TransactionalID, "transaction the batches belong to; null: none")
	c.Int16("Acks", &m.Acks, "what to wait for: 0 nothing, and no answer; 1 the leader; -1 what the broker is set to")
	c.Int32("TimeoutMs", &m.TimeoutMs, "how long to wait for it, in ms")
	codec.Array(c, "TopicData", "TopicProduceData", &m.TopicData, "batches by topic")
}

// Reset makes the message ready for another one, and lets go of the records.
func (m *ProduceRequest) Reset() {
	for i := range m.TopicData {
		clear(m.TopicData[i].PartitionData)
	}
	*m = ProduceRequest{TopicData: kept(m.TopicData)}
}

// ProduceTopic is the batches of one topic.
type ProduceTopic struct {
	Name          string
	TopicID       kafka.TopicID
	PartitionData []ProducePartition
}

// Fields is the wire order.
func (m *ProduceTopic) Fields(c *codec.Cursor) {
	if c.Version <= 12 {
		c.String("Name", &m.Name, "name of the topic")
	} else {
		codec.Default(c, &m.Name, "")
		c.UUID("TopicId", &m.TopicID, "id of the topic")
	}
	codec.Array(c, "PartitionData", "PartitionProduceData", &m.PartitionData, "batches by partition")
}

// Reset makes the topic ready for another one.
func (m *ProduceTopic) Reset() {
	*m = ProduceTopic{Name: m.Name, PartitionData: kept(m.PartitionData)}
}

// ProducePartition is what goes to one partition.
type ProducePartition struct {
	Index   int32
	Records codec.Records
}

// Fields is the wire order.
func (m *ProducePartition) Fields(c *codec.Cursor) {
	c.Int32("Index", &m.Index, "number of the partition")
	c.NullRecords("Records", &m.Records, "one record batch")
}

// ProduceResponse says where the batches went.
type ProduceResponse struct {
	Responses      []ProduceResponseTopic
	ThrottleTimeMs int32
	NodeEndpoints  []NodeEndpoint
}

// Fields is the wire order.
func (m *ProduceResponse) Fields(c *codec.Cursor) {
	codec.Array(c, "Responses", "TopicProduceResponse", &m.Responses, "answers by topic")
	c.Int32("ThrottleTimeMs", &m.ThrottleTimeMs, "how long the client is throttled, in ms")
	if c.Version >= 10 && c.Tag(0, len(m.NodeEndpoints) > 0) {
		codec.Array(c, "NodeEndpoints", "NodeEndpoint", &m.NodeEndpoints, "addresses of the leaders named above")
		c.EndTag()
	}
}

// SetThrottle sets how long the client is throttled, in ms.
func (m *ProduceResponse) SetThrottle(ms int32) { m.ThrottleTimeMs = ms }

// ProduceResponseTopic answers for one topic.
type ProduceResponseTopic struct {
	Name               string
	TopicID            kafka.TopicID
	PartitionResponses []ProduceResponsePartition
}

// Fields is the wire order.
func (m *ProduceResponseTopic) Fields(c *codec.Cursor) {
	if c.Version <= 12 {
		c.String("Name", &m.Name, "name of the topic")
	} else {
		c.UUID("TopicId", &m.TopicID, "id of the topic")
	}
	codec.Array(c, "PartitionResponses", "PartitionProduceResponse", &m.PartitionResponses, "answers by partition")
}

// ProduceResponsePartition answers for one partition.
type ProduceResponsePartition struct {
	Index           int32
	ErrorCode       kafka.Code
	BaseOffset      int64
	LogAppendTimeMs int64
	LogStartOffset  int64
	RecordErrors    []ProduceResponseRecordError
	ErrorMessage    *string
	CurrentLeader   *LeaderIDAndEpoch
}

// Fields is the wire order.
func (m *ProduceResponsePartition) Fields(c *codec.Cursor) {
	c.Int32("Index", &m.Index, "number of the partition")
	c.ErrorCode("ErrorCode", &m.ErrorCode, "error of this partition")
	c.Int64("BaseOffset", &m.BaseOffset, "offset of the first record; -1 with an error")
	c.Int64("LogAppendTimeMs", &m.LogAppendTimeMs, "timestamp the broker gave the records, in ms; -1: the client's stand")
	if c.Version >= 5 {
		c.Int64("LogStartOffset", &m.LogStartOffset, "first offset of the log; -1 with an error")
	} else {
		codec.Default(c, &m.LogStartOffset, -1)
	}
	if c.Version >= 8 {
		codec.Array(c, "RecordErrors", "BatchIndexAndErrorMessage", &m.RecordErrors, "records that made the batch fail")
		c.NullString("ErrorMessage", 8, &m.ErrorMessage, "what is wrong, for people")
	}
	if c.Version >= 10 && c.Tag(0, m.CurrentLeader != nil) {
		codec.Struct(c, "CurrentLeader", "LeaderIdAndEpoch", codec.Make(c, &m.CurrentLeader), "who leads the partition now")
		c.EndTag()
	}
}

// ProduceResponseRecordError is one bad record.
type ProduceResponseRecordError struct {
	BatchIndex             int32
	BatchIndexErrorMessage *string
}

// Fields is the wire order.
func (m *ProduceResponseRecordError) Fields(c *codec.Cursor) {
	c.Int32("BatchIndex", &m.BatchIndex, "number of the record in its batch")
	c.NullString("BatchIndexErrorMessage", 8, &m.BatchIndexErrorMessage, "what is wrong with it")
}
