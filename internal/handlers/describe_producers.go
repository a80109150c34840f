package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// DescribeProducers (key 61, KIP-664): v0, always flexible. Those are told that
// the log remembers: the idempotent ones, until they were silent for
// producer.id.expiration.ms. There are no transactions, so that no producer has
// one open.
func (h *Handlers) describeProducers(c *call, req *message.DescribeProducersRequest) (*message.DescribeProducersResponse, error) {
	topics, err := producerTopics.distinct(req.Topics)
	if err != nil {
		return nil, err
	}
	resp := &message.DescribeProducersResponse{Topics: make([]message.DescribeProducersResponseTopic, len(topics))}
	for i, asked := range topics {
		out := &resp.Topics[i]
		out.Name, out.Partitions = asked.Name, []message.DescribeProducersResponsePartition{}
		t, unseen := c.topic(asked.Name, kafka.TopicID{}, false, kafka.OpRead)
		for _, number := range asked.PartitionIndexes {
			producers, err := c.producersOf(t, number, unseen)
			out.Partitions = append(out.Partitions, message.DescribeProducersResponsePartition{
				PartitionIndex: number, ErrorCode: c.code(err), ErrorMessage: text(err), ActiveProducers: producers,
			})
		}
	}
	return resp, nil
}

// producerTopics is how partitions with producers are asked for.
var producerTopics = topicsOf[message.DescribeProducersTopic, int32, string]{
	name:       func(t *message.DescribeProducersTopic) string { return t.Name },
	partitions: func(t *message.DescribeProducersTopic) *[]int32 { return &t.PartitionIndexes },
	number:     itself,
}

// producersOf are those of a partition of a topic, which the caller may see
// unless there is an error.
func (c *call) producersOf(t *metadata.Topic, number int32, unseen error) ([]message.DescribeProducersResponseProducer, error) {
	if unseen != nil {
		return nil, unseen
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
