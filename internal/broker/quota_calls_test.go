package broker_test

import (
	"fmt"
	"slices"
	"strings"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// values are the quotas of users, as described.
type values map[string]map[string]float64

func set(key string, value float64) message.AlterClientQuotasOp {
	return message.AlterClientQuotasOp{Key: key, Value: value}
}

func unset(key string) message.AlterClientQuotasOp {
	return message.AlterClientQuotasOp{Key: key, Remove: true}
}

func entityOf(components ...message.AlterClientQuotasEntity) []message.AlterClientQuotasEntity {
	return components
}

func named(kind, name string) message.AlterClientQuotasEntity {
	return message.AlterClientQuotasEntity{EntityType: kind, EntityName: &name}
}

func byDefault(kind string) message.AlterClientQuotasEntity {
	return message.AlterClientQuotasEntity{EntityType: kind}
}

func entry(user string, ops ...message.AlterClientQuotasOp) message.AlterClientQuotasEntry {
	return message.AlterClientQuotasEntry{Entity: entityOf(named(kafka.EntityUser, user)), Ops: ops}
}

func (p *peer) alterAll(version int16, validateOnly bool, entries ...message.AlterClientQuotasEntry) []message.AlterClientQuotasResponseEntry {
	p.t.Helper()
	return call[message.AlterClientQuotasResponse](p, version, &message.AlterClientQuotasRequest{Entries: entries, ValidateOnly: validateOnly}).Entries
}

// alter changes quotas of one user, which must work.
func (p *peer) alter(user string, ops ...message.AlterClientQuotasOp) {
	p.t.Helper()
	for _, e := range p.alterAll(1, false, entry(user, ops...)) {
		if e.ErrorCode != kafka.NoError {
			p.t.Fatalf("alter quotas of %s: %s %s", user, e.ErrorCode, *e.ErrorMessage)
		}
	}
}

func (p *peer) describeAll(version int16, strict bool, components ...message.DescribeClientQuotasComponent) *message.DescribeClientQuotasResponse {
	p.t.Helper()
	return call[message.DescribeClientQuotasResponse](p, version, &message.DescribeClientQuotasRequest{Components: components, Strict: strict})
}

// describe gives the quotas that match.
func (p *peer) describe(components ...message.DescribeClientQuotasComponent) values {
	p.t.Helper()
	resp := p.describeAll(1, false, components...)
	if resp.ErrorCode != kafka.NoError {
		p.t.Fatalf("describe quotas: %s", resp.ErrorCode)
	}
	return p.valuesOf(resp)
}

func (p *peer) valuesOf(resp *message.DescribeClientQuotasResponse) values {
	p.t.Helper()
	all := values{}
	for _, e := range resp.Entries {
		if len(e.Entity) != 1 || e.Entity[0].EntityType != kafka.EntityUser || e.Entity[0].EntityName == nil {
			p.t.Fatalf("described entity %+v", e.Entity)
		}
		user := map[string]float64{}
		for _, v := range e.Values {
			user[v.Key] = v.Value
		}
		all[*e.Entity[0].EntityName] = user
	}
	return all
}

// component is one of an entity in any message.
type component interface {
	message.AlterClientQuotasEntity | message.DescribeClientQuotasResponseEntity
}

// nameOf is an entity as one text, whatever the order of its components.
func nameOf[C component](entity []C) string {
	var parts []string
	for _, c := range entity {
		c := message.AlterClientQuotasEntity(c)
		parts = append(parts, fmt.Sprintf("%s=%q", c.EntityType, deref(c.EntityName)))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// everything is what is described of all entities, by entity.
func (p *peer) everything() map[string]map[string]float64 {
	p.t.Helper()
	resp := p.describeAll(1, false)
	if resp.ErrorCode != kafka.NoError {
		p.t.Fatalf("describe quotas: %s", resp.ErrorCode)
	}
	all := map[string]map[string]float64{}
	for _, e := range resp.Entries {
		values := map[string]float64{}
		for _, v := range e.Values {
			values[v.Key] = v.Value
		}
		all[nameOf(e.Entity)] = values
	}
	return all
}

const (
	exact  = int8(0)
	normal = int8(1)
	anyone = int8(2)
)

func match(kind string, how int8, name ...string) message.DescribeClientQuotasComponent {
	c := message.DescribeClientQuotasComponent{EntityType: kind, MatchType: how}
	if len(name) > 0 {
		c.Match = &name[0]
	}
	return c
}

func ops(ops ...message.AlterClientQuotasOp) []message.AlterClientQuotasOp { return ops }

func echo(entity []message.AlterClientQuotasEntity) []message.AlterClientQuotasResponseEntity {
	out := []message.AlterClientQuotasResponseEntity{}
	for _, c := range entity {
		out = append(out, message.AlterClientQuotasResponseEntity(c))
	}
	return out
}

func deref(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}

func filter(c ...message.DescribeClientQuotasComponent) []message.DescribeClientQuotasComponent {
	return c
}
