package handlers

import (
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// AlterClientQuotas (key 49, KIP-546): v0-1, flexible from v1. A change is in
// force, on live buckets too, before the answer; in the kafka model it is on disk
// as well, and when that fails every entry that was good is 56 and nothing has
// changed. Every entry, taken or refused, is one line of the audit log.
//
// Differs from Kafka: an entity named twice has none of its entries applied
// (Kafka applies the first); answers are in the order asked. What else the
// model decides is in quota.
func (h *Handlers) alterClientQuotas(c *call, req *message.AlterClientQuotasRequest) (*message.AlterClientQuotasResponse, error) {
	if err := tooMany(len(req.Entries)); err != nil {
		return nil, err
	}
	if err := c.allow(kafka.OpAlterConfigs, kafka.Cluster); err != nil {
		return c.refuseQuotas(req, err), nil
	}
	resp := &message.AlterClientQuotasResponse{Entries: []message.AlterClientQuotasResponseEntry{}}
	for _, r := range h.Quotas.Alter(c.forAlter(), c.now, alterations(req), req.ValidateOnly) {
		var err error
		if r.Err != nil {
			err = r.Err
		}
		c.auditQuota(r, req.ValidateOnly)
		resp.Entries = append(resp.Entries, message.AlterClientQuotasResponseEntry{
			ErrorCode: c.code(err), ErrorMessage: text(err), Entity: echo(r.Components),
		})
	}
	return resp, nil
}

func alterations(req *message.AlterClientQuotasRequest) []quota.Alteration {
	all := make([]quota.Alteration, 0, len(req.Entries))
	for _, e := range req.Entries {
		a := quota.Alteration{Components: entity(e)}
		for _, op := range e.Ops {
			a.Ops = append(a.Ops, quota.Op{Key: op.Key, Value: op.Value, Remove: op.Remove})
		}
		all = append(all, a)
	}
	return all
}

func entity(e message.AlterClientQuotasEntry) []quota.Component {
	var parts []quota.Component
	for _, part := range e.Entity {
		parts = append(parts, quota.Component{Type: part.EntityType, Name: part.EntityName})
	}
	return parts
}

func echo(parts []quota.Component) []message.AlterClientQuotasResponseEntity {
	out := make([]message.AlterClientQuotasResponseEntity, 0, len(parts))
	for _, part := range parts {
		out = append(out, message.AlterClientQuotasResponseEntity{EntityType: part.Type, EntityName: part.Name})
	}
	return out
}

// refuseQuotas answers every entry, in the order asked and each as often as it
// was sent.
func (c *call) refuseQuotas(req *message.AlterClientQuotasRequest, err error) *message.AlterClientQuotasResponse {
	refusal := kafka.Errorf(kafka.CodeOf(err), "%s", kafka.MessageOf(err))
	resp := &message.AlterClientQuotasResponse{Entries: []message.AlterClientQuotasResponseEntry{}}
	for _, e := range req.Entries {
		r := quota.Result{Components: entity(e), Err: refusal}
		c.auditQuota(r, req.ValidateOnly)
		resp.Entries = append(resp.Entries, message.AlterClientQuotasResponseEntry{
			ErrorCode: c.code(err), ErrorMessage: text(err), Entity: echo(r.Components),
		})
	}
	return resp
}

// auditQuota writes the line that tells who changed which quota, or why not.
func (c *call) auditQuota(r quota.Result, validateOnly bool) {
	name := func() string { return entityName(r.Components) }
	if r.Err != nil {
		c.auditRefused("quota change refused", "entity", name, r.Err)
		return
	}
	fields := append(c.who(), zap.String("entity", name()))
	switch {
	case validateOnly:
		c.h.audit.Info("quota change checked, not made", append(fields, zap.Any("old", r.Old), zap.Any("new", r.New))...)
	default:
		c.h.audit.Info("quota changed", append(fields, zap.Any("old", r.Old), zap.Any("new", r.New))...)
	}
}

// What of a request is written to the log at most: components of an entity, bytes
// of one, and bytes of a reason, which may hold names.
const (
	maxAuditedParts = 8
	maxAuditedName  = 128
	maxAuditedText  = 1024
)

// entityName names an entity as the commands do, whatever the order asked for:
// "user alice, client-id c1", "user-default". A name that could be taken for
// something else is quoted, what is too long for a line ends with ~.
func entityName(parts []quota.Component) string {
	names := make([]string, 0, maxAuditedParts)
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b quota.Component) int { return rank(a.Type) - rank(b.Type) })
	for i, part := range parts {
		if i == maxAuditedParts {
			names = append(names, "~")
			break
		}
		kind := plainName(shortened(part.Type, maxAuditedName))
		if part.Name == nil {
			names = append(names, strings.TrimSuffix(kind, "-id")+"-default")
			continue
		}
		names = append(names, kind+" "+plainName(shortened(*part.Name, maxAuditedName)))
	}
	return strings.Join(names, ", ")
}

// rank is where a type stands in the name of an entity.
func rank(kind string) int {
	if i := slices.Index([]string{kafka.EntityUser, kafka.EntityClientID, kafka.EntityIP}, kind); i >= 0 {
		return i
	}
	return maxAuditedParts
}

// plainName is a name in one word that no other entity has.
func plainName(name string) string {
	quoted := strconv.Quote(name)
	if name == "" || len(quoted) != len(name)+2 || strings.ContainsAny(name, " ,") {
		return quoted
	}
	return name
}

// shortened is at most n bytes of a text, with ~ where it goes on.
func shortened(text string, n int) string {
	if len(text) > n {
		return text[:n] + "~"
	}
	return text
}
