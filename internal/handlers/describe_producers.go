package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// DescribeProducers (key 61, KIP-664): v0, always flexible. Those are told that
// the log remembers: the idempotent ones, until they were silent for
// producer.id.expiration.ms. There are no transactions, so that no producer has
// one open.
func (h *Handlers) describeProducers(c *call, req *message.DescribeProducersRequest) (*message.DescribeProducersResponse, error) {
	resp := &message.DescribeProducersResponse{Topics: make([]message.DescribeProducersResponseTopic, len(req.Topics))}
	for i, asked := range req.Topics {
		out := &resp.Topics[i]
		out.Name, out.Partitions = asked.Name, []message.DescribeProducersResponsePartition{}
		for _, number := range asked.PartitionIndexes {
			producers, err := c.producersOf(asked.Name, number)
			out.Partitions = append(out.Partitions, message.DescribeProducersResponsePartition{
				PartitionIndex: number, ErrorCode: c.code(err), ErrorMessage: text(err), ActiveProducers: producers,
			})
		}
	}
	return resp, nil
}

func (c *call) producersOf(topic string, number int32) ([]message.DescribeProducersResponseProducer, error) {
	t, err := c.topic(topic, kafka.TopicID{}, false, kafka.OpRead)
	if err != nil {
		return nil, err
	}
	log, err := c.h.logs.find(t, number)
	if err != nil {
		return nil, err
	}
	known, err := log.Producers()
	if err != nil {
		return nil, err
	}
	producers := make([]message.DescribeProducersResponseProducer, len(known))
	for i, p := range known {
		producers[i] = message.DescribeProducersResponseProducer{
			ProducerID: p.ID, ProducerEpoch: int32(p.Epoch), LastSequence: p.LastSequence, LastTimestamp: p.LastWrite,
			CoordinatorEpoch: -1, CurrentTxnStartOffset: -1,
		}
	}
	return producers, nil
}
