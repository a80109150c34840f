package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/kafka"
)

// entityKey is equal for equal entities, whatever the order of their parts.
func entityKey(e kadm.ClientQuotaEntity) kafka.Entity {
	var key kafka.Entity
	for _, c := range e {
		name := kafka.EntityName{Present: true, Default: c.Name == nil}
		if c.Name != nil {
			name.Name = *c.Name
		}
		switch c.Type {
		case kafka.EntityUser:
			key.User = name
		case kafka.EntityClientID:
			key.ClientID = name
		case kafka.EntityIP:
			key.IP = name
		}
	}
	return key
}

// gather joins what is stated of the same entity. What cannot be a quota here
// is left out and named; a key with two values is an error.
func gather(all []statedQuota) (quotas kadm.DescribedClientQuotas, unknown []string, err error) {
	place := map[kafka.Entity]int{}
	var wrong []error
	for _, q := range all {
		if text := unknownIn(q); text != "" {
			unknown = append(unknown, text)
			continue
		}
		key := entityKey(q.entity)
		at, known := place[key]
		if !known {
			at = len(quotas)
			place[key] = at
			quotas = append(quotas, kadm.DescribedClientQuota{Entity: q.entity})
		}
		if err := state(&quotas[at], q); err != nil {
			wrong = append(wrong, err)
		}
	}
	slices.SortStableFunc(quotas, byEntity)
	return quotas, unknown, errors.Join(wrong...)
}

// state adds a value to an entity that may have it already.
func state(d *kadm.DescribedClientQuota, q statedQuota) error {
	i := slices.IndexFunc(d.Values, func(v kadm.ClientQuotaValue) bool { return v.Key == q.key })
	if i < 0 {
		d.Values = append(d.Values, kadm.ClientQuotaValue{Key: q.key, Value: q.value})
		return nil
	}
	if d.Values[i].Value == q.value {
		return nil
	}
	return exitWith(exitInput, "%s: %s: %s is %s here and %s before", q.where, entityText(d.Entity), q.key,
		formatQuota(q.key, q.value), formatQuota(q.key, d.Values[i].Value))
}

// unknownIn names what kaasd has no word for.
func unknownIn(q statedQuota) string {
	for _, c := range q.entity {
		if !slices.Contains(entityTypes, c.Type) {
			return fmt.Sprintf("%s: entity type %s (%s)", q.where, c.Type, entityText(q.entity))
		}
	}
	if !slices.ContainsFunc(quotaKeys, func(k quotaKey) bool { return k.key == q.key }) {
		return fmt.Sprintf("%s: quota key %s (%s)", q.where, q.key, entityText(q.entity))
	}
	return ""
}

// quotaChanges are the alterations that bring the quotas that hold to those
// that are wanted. Without replace what is not wanted stays.
func quotaChanges(hold, wanted kadm.DescribedClientQuotas, replace bool) []alteration {
	now := map[kafka.Entity]map[string]float64{}
	for _, q := range hold {
		now[entityKey(q.Entity)] = valuesOf(q)
	}
	var all []alteration
	for _, q := range wanted {
		key := entityKey(q.Entity)
		if c := changesOf(q, now[key], replace); len(c.ops) > 0 {
			all = append(all, c)
		}
		delete(now, key)
	}
	for _, q := range hold {
		if values, left := now[entityKey(q.Entity)]; replace && left {
			all = append(all, changesOf(kadm.DescribedClientQuota{Entity: q.Entity}, values, true))
		}
	}
	slices.SortStableFunc(all, func(x, y alteration) int { return strings.Compare(sortKey(x.entity), sortKey(y.entity)) })
	return all
}

// changesOf is what has to happen to one entity, its keys in the order in
// which they are shown.
func changesOf(wanted kadm.DescribedClientQuota, old map[string]float64, replace bool) alteration {
	c := alteration{entity: wanted.Entity, old: old}
	values := valuesOf(wanted)
	keys := slices.Concat(sortedKeys(values), sortedKeys(old))
	slices.SortFunc(keys, byQuotaKey)
	for _, key := range slices.Compact(keys) {
		v, stays := values[key]
		before, had := old[key]
		switch {
		case stays && (!had || before != v):
			c.ops = append(c.ops, kadm.AlterClientQuotaOp{Key: key, Value: v})
		case !stays && replace:
			c.ops = append(c.ops, kadm.AlterClientQuotaOp{Key: key, Remove: true})
		}
	}
	return c
}

// byQuotaKey orders keys as they are shown; those not known here come last.
func byQuotaKey(x, y string) int {
	place := func(key string) int {
		i := slices.IndexFunc(quotaKeys, func(k quotaKey) bool { return k.key == key })
		if i < 0 {
			return len(quotaKeys)
		}
		return i
	}
	if d := place(x) - place(y); d != 0 {
		return d
	}
	return strings.Compare(x, y)
}
