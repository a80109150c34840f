package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/group"
)

// LeaveGroup (key 13, KIP-345, KIP-800): v0-5, flexible from v4. Up to version 2
// one member leaves, and the error is the request's; from version 3 on several,
// each with an error of its own, static ones also by their instance alone.
func (h *Handlers) leaveGroup(c *call, req *message.LeaveGroupRequest) (*message.LeaveGroupResponse, error) {
	leaving := []group.Leave{{MemberID: req.MemberID}}
	if c.header.Version >= 3 {
		leaving = leaving[:0]
		for _, m := range req.Members {
			leaving = append(leaving, group.Leave{MemberID: m.MemberID, InstanceID: orEmpty(m.GroupInstanceID)})
		}
	}
	err := c.mayRead(req.GroupID)
	var results []error
	if err == nil {
		results, err = h.Groups.Leave(c.now, req.GroupID, leaving)
	}
	switch {
	case err != nil:
		return &message.LeaveGroupResponse{ErrorCode: c.code(err)}, nil
	case c.header.Version < 3:
		return &message.LeaveGroupResponse{ErrorCode: c.code(results[0])}, nil
	}
	resp := &message.LeaveGroupResponse{Members: make([]message.LeaveGroupResponseMember, len(leaving))}
	for i, m := range req.Members {
		resp.Members[i] = message.LeaveGroupResponseMember{MemberID: m.MemberID, GroupInstanceID: m.GroupInstanceID, ErrorCode: c.code(results[i])}
	}
	return resp, nil
}
