package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// AlterPartitionReassignments (key 45, KIP-455): v0-1, always flexible. A
// partition is where it can be, on the only broker: asking for that is done at
// once, any other place is refused.
func (h *Handlers) alterPartitionReassignments(c *call, req *message.AlterPartitionReassignmentsRequest) (*message.AlterPartitionReassignmentsResponse, error) {
	topics, err := movedTopics.distinct(req.Topics)
	if err != nil {
		return nil, err
	}
	denied := c.allow(kafka.OpAlter, kafka.Cluster)
	resp := &message.AlterPartitionReassignmentsResponse{
		AllowReplicationFactorChange: req.AllowReplicationFactorChange, ErrorCode: c.code(denied), ErrorMessage: text(denied),
		Responses: make([]message.AlterPartitionReassignmentsResponseTopic, len(topics)),
	}
	for i, asked := range topics {
		out := &resp.Responses[i]
		out.Name, out.Partitions = asked.Name, []message.AlterPartitionReassignmentsResponsePartition{}
		for _, p := range asked.Partitions {
			err := denied
			if err == nil {
				err = c.reassign(asked.Name, p)
			}
			out.Partitions = append(out.Partitions, message.AlterPartitionReassignmentsResponsePartition{
				PartitionIndex: p.PartitionIndex, ErrorCode: c.code(err), ErrorMessage: text(err),
			})
		}
	}
	return resp, nil
}

// movedTopics is how partitions to move are named.
var movedTopics = topicsOf[message.AlterPartitionReassignmentsTopic, message.AlterPartitionReassignmentsPartition, string]{
	name: func(t *message.AlterPartitionReassignmentsTopic) string { return t.Name },
	partitions: func(t *message.AlterPartitionReassignmentsTopic) *[]message.AlterPartitionReassignmentsPartition {
		return &t.Partitions
	},
	number: func(p message.AlterPartitionReassignmentsPartition) int32 { return p.PartitionIndex },
}

func (c *call) reassign(topic string, p message.AlterPartitionReassignmentsPartition) error {
	t, ok := c.image.Topic(topic)
	if !ok {
		return errUnknownTopic
	}
	if err := hasPartition(t, p.PartitionIndex); err != nil {
		return err
	}
	if p.Replicas == nil {
		return kafka.Errorf(kafka.NoReassignmentInProgress, "the partition is not on its way to another broker")
	}
	return c.h.checkReplicas(p.Replicas)
}
