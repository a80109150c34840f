package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
)

// DescribeGroups (key 15, KIP-345, KIP-430, KIP-1043): v0-6, flexible from v5.
// The assignor, and what members told and got, are there while a group is
// stable. A group that is not there is Dead, which is an error from v6 on.
func (h *Handlers) describeGroups(c *call, req *message.DescribeGroupsRequest) (*message.DescribeGroupsResponse, error) {
	groups, err := distinctNames(req.Groups)
	if err != nil {
		return nil, err
	}
	resp := &message.DescribeGroupsResponse{Groups: make([]message.DescribeGroupsResponseGroup, len(groups))}
	for i, name := range groups {
		resp.Groups[i] = c.describedGroup(name, req.IncludeAuthorizedOperations)
	}
	return resp, nil
}

func (c *call) describedGroup(name string, operations bool) message.DescribeGroupsResponseGroup {
	out := message.DescribeGroupsResponseGroup{GroupID: name, AuthorizedOperations: message.NoOperations}
	if err := c.allow(kafka.OpDescribe, kafka.GroupResource(name)); err != nil {
		out.ErrorCode, out.ErrorMessage = c.code(err), text(err)
		return out
	}
	d, ok := c.h.Groups.Describe(name)
	if !ok {
		return c.deadGroup(out, operations)
	}
	out.GroupState, out.ProtocolType, out.ProtocolData = d.State.String(), d.ProtocolType, d.Protocol
	out.Members = make([]message.DescribeGroupsResponseMember, len(d.Members))
	for i, m := range d.Members {
		out.Members[i] = message.DescribeGroupsResponseMember{
			MemberID: m.ID, GroupInstanceID: orNull(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost,
			MemberMetadata: m.Metadata, MemberAssignment: m.Assignment,
		}
	}
	if operations {
		out.AuthorizedOperations = c.operations(kafka.GroupResource(name))
	}
	return out
}

// deadGroup describes a group that is not there.
func (c *call) deadGroup(out message.DescribeGroupsResponseGroup, operations bool) message.DescribeGroupsResponseGroup {
	out.GroupState = group.Dead.String()
	if c.header.Version >= 6 {
		err := kafka.Errorf(kafka.GroupIDNotFound, "there is no group %q", out.GroupID)
		out.ErrorCode, out.ErrorMessage = c.code(err), text(err)
	} else if operations {
		out.AuthorizedOperations = c.operations(kafka.GroupResource(out.GroupID))
	}
	return out
}
