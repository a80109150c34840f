package handlers

import (
	"slices"
	"strings"

	"kaasd/internal/codec/message"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
)

// groupType is that of every group here (KIP-848).
const groupType = "classic"

// ListGroups (key 16, KIP-518, KIP-848): v0-5, flexible from v3. Who may not
// describe the cluster sees the groups it may describe. Filters take any letter
// case; what they name and nobody is in is no error.
func (h *Handlers) listGroups(c *call, req *message.ListGroupsRequest) (*message.ListGroupsResponse, error) {
	resp := &message.ListGroupsResponse{Groups: []message.ListGroupsResponseGroup{}}
	if !wanted(req.TypesFilter, groupType) {
		return resp, nil
	}
	const listed = 128 // bytes of memory for each
	if err := c.tellMuch(h.Groups.Count() * listed); err != nil {
		return nil, err
	}
	all := c.may(kafka.OpDescribe, kafka.Cluster)
	shown := map[group.State]bool{} // a filter may be long, and groups many: each state is looked for once
	for _, g := range h.Groups.List() {
		if _, known := shown[g.State]; !known {
			shown[g.State] = wanted(req.StatesFilter, g.State.String())
		}
		if shown[g.State] && (all || c.may(kafka.OpDescribe, kafka.GroupResource(g.Name))) {
			resp.Groups = append(resp.Groups, message.ListGroupsResponseGroup{
				GroupID: g.Name, ProtocolType: g.ProtocolType, GroupState: g.State.String(), GroupType: groupType,
			})
		}
	}
	return resp, nil
}

// wanted says whether a filter lets something through; an empty one does.
func wanted(filter []string, what string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, what) })
}
