package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// DeleteRecords (key 21, KIP-107): v0-2, flexible from v2. The start of the
// log moves forward, durably, before the answer. -1 is the high watermark.
func (h *Handlers) deleteRecords(c *call, req *message.DeleteRecordsRequest) (*message.DeleteRecordsResponse, error) {
	resp := &message.DeleteRecordsResponse{Topics: make([]message.DeleteRecordsResponseTopic, len(req.Topics))}
	for i := range req.Topics {
		asked, out := &req.Topics[i], &resp.Topics[i]
		out.Name = asked.Name
		out.Partitions = make([]message.DeleteRecordsResponsePartition, len(asked.Partitions))
		for j := range asked.Partitions {
			p := &asked.Partitions[j]
			low, err := h.deleteBefore(c, asked.Name, p)
			out.Partitions[j] = message.DeleteRecordsResponsePartition{
				PartitionIndex: p.PartitionIndex, LowWatermark: low, ErrorCode: c.code(err),
			}
		}
	}
	return resp, nil
}

func (h *Handlers) deleteBefore(c *call, topic string, p *message.DeleteRecordsPartition) (low int64, err error) {
	t, err := c.topic(topic, kafka.TopicID{}, false, kafka.OpDelete)
	if err != nil {
		return -1, err
	}
	if internalTopics[t.Name] {
		return -1, kafka.Errorf(kafka.InvalidTopic, "topic %q is internal: its records are the broker's", t.Name)
	}
	log, err := h.logs.find(t, p.PartitionIndex)
	if err != nil {
		return -1, err
	}
	if p.Offset < -1 {
		return -1, kafka.Errorf(kafka.OffsetOutOfRange, "offset %d is below 0", p.Offset)
	}
	low, err = log.DeleteRecords(p.Offset)
	if err != nil {
		return -1, err
	}
	return low, nil
}
