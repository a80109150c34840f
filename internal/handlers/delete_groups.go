package handlers

import (
	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// DeleteGroups (key 42, KIP-229): v0-3, flexible from v2. A group without
// members goes with its offsets, durably as log.flush says before the answer.
//
// Differs from Kafka: a refusal says why, from v3 on, which has a place for it.
func (h *Handlers) deleteGroups(c *call, req *message.DeleteGroupsRequest) (*message.DeleteGroupsResponse, error) {
	resp := &message.DeleteGroupsResponse{Results: make([]message.DeleteGroupsResponseResult, len(req.GroupsNames))}
	for i, name := range req.GroupsNames {
		err := c.allow(kafka.OpDelete, kafka.GroupResource(name))
		if err == nil {
			err = h.Groups.Delete(c.ctx, c.now, name)
		}
		if err == nil {
			h.log.Info("group deleted", append(c.who(), zap.String("group", name))...)
		}
		resp.Results[i] = message.DeleteGroupsResponseResult{GroupID: name, ErrorCode: c.code(err), ErrorMessage: text(err)}
	}
	return resp, nil
}
