package handlers

import (
	"bytes"

	"kaasd/internal/codec/message"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
)

// SyncGroup (key 14, KIP-345, KIP-559): v0-5, flexible from v4. The answer comes
// with the leader's assignment; meanwhile the connection is parked.
func (h *Handlers) syncGroup(c *call, req *message.SyncGroupRequest) (*message.SyncGroupResponse, error) {
	if err := c.maySync(req); err != nil {
		return c.syncResponse(group.Synced{Err: err}), nil
	}
	s := &group.Sync{MemberID: req.MemberID, InstanceID: orEmpty(req.GroupInstanceID), Generation: req.GenerationID,
		ProtocolType: orEmpty(req.ProtocolType), Protocol: orEmpty(req.ProtocolName), Assignments: make(map[string][]byte, len(req.Assignments))}
	for _, a := range req.Assignments {
		s.Assignments[a.MemberID] = bytes.Clone(a.Assignment)
	}
	req.Assignments = nil // they lie in the frame
	c.request.DropFrame()
	answer, err := answered(c, h.Groups.Sync(c.now, req.GroupID, s), group.Synced{Err: errStopping})
	if err != nil {
		return nil, err
	}
	if answer.Err == nil {
		c.speaksFor(req.GroupID, req.MemberID)
	}
	return c.syncResponse(answer), nil
}

func (c *call) maySync(req *message.SyncGroupRequest) error {
	if c.header.Version >= 5 && (req.ProtocolType == nil || req.ProtocolName == nil) {
		return kafka.Errorf(kafka.InconsistentGroupProtocol, "the member does not say which protocol it takes for the group's")
	}
	return c.mayRead(req.GroupID)
}

func (c *call) syncResponse(a group.Synced) *message.SyncGroupResponse {
	if a.Err != nil {
		return &message.SyncGroupResponse{ErrorCode: c.code(a.Err)}
	}
	return &message.SyncGroupResponse{ProtocolType: &a.ProtocolType, ProtocolName: &a.Protocol, Assignment: a.Assignment}
}
