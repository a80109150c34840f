package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// DeleteAcls (key 31, KIP-140, KIP-290): v1-3, flexible from v2. What is removed
// is no longer in force, nor on disk, before the answer. An ACL that two filters
// match is in the answers of both. Every ACL removed, and every filter refused,
// is one line of the audit log. Without an authorizer there are no ACLs: 54.
//
// Differs from Kafka: filters that match more than 250,000 ACLs, counted for
// each filter, are 42 and remove nothing; a filter with a number that is not known
// is 42 (Kafka closes the connection).
func (h *Handlers) deleteAcls(c *call, req *message.DeleteAclsRequest) (*message.DeleteAclsResponse, error) {
	if err := tooMany(len(req.Filters)); err != nil {
		return nil, err
	}
	filters := make([]kafka.ACLFilter, len(req.Filters))
	for i, asked := range req.Filters {
		filters[i] = kafka.ACLFilter{
			Type: kafka.ResourceType(asked.ResourceTypeFilter), Name: asked.ResourceNameFilter, Pattern: kafka.PatternType(asked.PatternTypeFilter),
			Principal: asked.PrincipalFilter, Host: asked.HostFilter, Operation: kafka.Operation(asked.Operation), Permission: kafka.Permission(asked.PermissionType),
		}
	}
	found, faults := c.removeACLs(filters)
	resp := &message.DeleteAclsResponse{FilterResults: []message.DeleteAclsResponseFilterResult{}}
	for i, err := range faults {
		result := message.DeleteAclsResponseFilterResult{
			ErrorCode: c.code(err), ErrorMessage: text(err), MatchingACLs: []message.DeleteAclsResponseMatchingACL{},
		}
		if err != nil {
			c.auditACLFilter(filters[i], err)
		} else {
			result.MatchingACLs = matching(found[i])
		}
		resp.FilterResults = append(resp.FilterResults, result)
	}
	return resp, nil
}

func matching(found []kafka.ACL) []message.DeleteAclsResponseMatchingACL {
	all := make([]message.DeleteAclsResponseMatchingACL, 0, len(found))
	for _, a := range found {
		all = append(all, message.DeleteAclsResponseMatchingACL{
			ResourceType: int8(a.Type), ResourceName: a.Name, PatternType: int8(a.Pattern), Principal: a.Principal, Host: a.Host,
			Operation: int8(a.Operation), PermissionType: int8(a.Permission),
		})
	}
	return all
}

// removeACLs removes what the filters match, in one commit: what each has found,
// and what is wrong with it.
func (c *call) removeACLs(filters []kafka.ACLFilter) ([][]kafka.ACL, []error) {
	found, faults := make([][]kafka.ACL, len(filters)), make([]error, len(filters))
	if err := c.mayManage(kafka.OpAlter); err != nil {
		return found, failed(faults, err)
	}
	gone := map[kafka.ACL]bool{}
	_, err := c.update(func(d *metadata.Draft) error {
		acls, matches := d.ACLs(), 0
		for i, f := range filters {
			if faults[i] = f.Check(); faults[i] != nil {
				continue
			}
			for _, a := range acls {
				if f.Matches(a) {
					found[i] = append(found[i], a)
					gone[a] = true
				}
			}
			if matches += len(found[i]); matches > maxNamed {
				return kafka.Errorf(kafka.InvalidRequest, "the filters match more than %d ACLs, counted once for each filter: use fewer filters", maxNamed)
			}
		}
		for a := range gone {
			if err := d.Add(metadata.NewACLDeleted(a)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return make([][]kafka.ACL, len(filters)), failed(faults, err)
	}
	for a := range gone {
		c.auditACL("ACL deleted", a, nil)
	}
	return found, faults
}
