package handlers

import (
	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// DeleteGroups (key 42, KIP-229): v0-3, flexible from v2. A group without
// members goes with its offsets, durably as log.flush says before the answer.
// What a client has words of its own for has no message, as in Kafka; a denial
// says, from v3 on, what is not permitted.
func (h *Handlers) deleteGroups(c *call, req *message.DeleteGroupsRequest) (*message.DeleteGroupsResponse, error) {
	groups, err := distinctNames(req.GroupsNames)
	if err != nil {
		return nil, err
	}
	resp := &message.DeleteGroupsResponse{Results: make([]message.DeleteGroupsResponseResult, len(groups))}
	for i, name := range groups {
		resp.Results[i] = c.deleteGroup(name)
	}
	return resp, nil
}

func (c *call) deleteGroup(name string) message.DeleteGroupsResponseResult {
	if err := c.allow(kafka.OpDelete, kafka.GroupResource(name)); err != nil {
		return message.DeleteGroupsResponseResult{GroupID: name, ErrorCode: c.code(err), ErrorMessage: text(err)}
	}
	err := c.h.Groups.Delete(c.ctx, c.now, name)
	if err == nil {
		c.h.log.Info("group deleted", append(c.who(), zap.String("group", name))...)
	}
	return message.DeleteGroupsResponseResult{GroupID: name, ErrorCode: c.code(err)}
}
