package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// AlterPartitionReassignments (key 45, KIP-455): v0-1, always flexible. A
// partition is where it can be, on the only broker: asking for that is done at
// once, any other place is refused.
func (h *Handlers) alterPartitionReassignments(c *call, req *message.AlterPartitionReassignmentsRequest) (*message.AlterPartitionReassignmentsResponse, error) {
	denied := c.allow(kafka.OpAlter, kafka.Cluster)
	resp := &message.AlterPartitionReassignmentsResponse{
		AllowReplicationFactorChange: req.AllowReplicationFactorChange, ErrorCode: c.code(denied), ErrorMessage: text(denied),
		Responses: make([]message.AlterPartitionReassignmentsResponseTopic, len(req.Topics)),
	}
	for i, asked := range req.Topics {
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
