package handlers

import (
	"bytes"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/group"
)

// JoinGroup (key 11, KIP-62, KIP-345, KIP-394, KIP-559, KIP-800, KIP-814): v0-9,
// flexible from v6. The answer comes when the rebalance is over; meanwhile the
// connection is parked. A peer that goes away stays a member until its session
// ends.
//
// Differs from Kafka: a second join of one member, while the first waits, ends
// the first with REBALANCE_IN_PROGRESS instead of leaving it unanswered.
func (h *Handlers) joinGroup(c *call, req *message.JoinGroupRequest) (*message.JoinGroupResponse, error) {
	if err := c.mayRead(req.GroupID); err != nil {
		return c.joinResponse(group.Joined{Err: err, MemberID: req.MemberID}), nil
	}
	join := c.join(req)
	req.Protocols = nil // they lie in the frame
	c.request.DropFrame()
	answer, err := answered(c, h.Groups.Join(c.now, req.GroupID, join), group.Joined{Err: errStopping, MemberID: req.MemberID})
	if err != nil {
		return nil, err
	}
	if answer.Err == nil {
		c.speaksFor(req.GroupID, answer.MemberID)
	}
	return c.joinResponse(answer), nil
}

// join is the request as the group keeps it: nothing of it lies in the frame.
func (c *call) join(req *message.JoinGroupRequest) *group.Join {
	rebalance := req.RebalanceTimeoutMs
	if c.header.Version == 0 {
		rebalance = req.SessionTimeoutMs
	}
	j := &group.Join{
		MemberID: req.MemberID, InstanceID: orEmpty(req.GroupInstanceID), ClientID: c.header.ClientID, ClientHost: c.clientHost(),
		SessionTimeout:   time.Duration(req.SessionTimeoutMs) * time.Millisecond,
		RebalanceTimeout: time.Duration(max(rebalance, 0)) * time.Millisecond,
		ProtocolType:     req.ProtocolType, NeedsID: c.header.Version >= 4, SkipsAssignments: c.header.Version >= 9,
	}
	for _, p := range req.Protocols {
		j.Protocols = append(j.Protocols, group.Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)})
	}
	return j
}

func (c *call) joinResponse(a group.Joined) *message.JoinGroupResponse {
	if a.Err != nil {
		return &message.JoinGroupResponse{ErrorCode: c.code(a.Err), GenerationID: -1, MemberID: a.MemberID}
	}
	resp := &message.JoinGroupResponse{
		GenerationID: a.Generation, ProtocolType: &a.ProtocolType, ProtocolName: &a.Protocol, Leader: a.Leader,
		SkipAssignment: a.SkipAssignment, MemberID: a.MemberID, Members: make([]message.JoinGroupResponseMember, len(a.Members)),
	}
	for i, m := range a.Members {
		resp.Members[i] = message.JoinGroupResponseMember{MemberID: m.ID, GroupInstanceID: orNull(m.InstanceID), Metadata: m.Metadata}
	}
	return resp
}
