package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// ListPartitionReassignments (key 46, KIP-455): v0, always flexible. Nothing is
// ever on its way to another broker, because there is none.
func (h *Handlers) listPartitionReassignments(c *call, _ *message.ListPartitionReassignmentsRequest) (*message.ListPartitionReassignmentsResponse, error) {
	err := c.allow(kafka.OpDescribe, kafka.Cluster)
	return &message.ListPartitionReassignmentsResponse{ErrorCode: c.code(err), ErrorMessage: text(err)}, nil
}
