package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/group"
)

// Heartbeat (key 12, KIP-345): v0-4, flexible from v4.
func (h *Handlers) heartbeat(c *call, req *message.HeartbeatRequest) (*message.HeartbeatResponse, error) {
	err := c.mayRead(req.GroupID)
	if err == nil {
		err = h.Groups.Heartbeat(c.now, req.GroupID, &group.Heartbeat{
			MemberID: req.MemberID, InstanceID: orEmpty(req.GroupInstanceID), Generation: req.GenerationID})
	}
	if err == nil {
		c.speaksFor(req.GroupID, req.MemberID)
	}
	return &message.HeartbeatResponse{ErrorCode: c.code(err)}, nil
}
