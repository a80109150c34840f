package main

import (
	"context"
	"net/url"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/admin"
	"kaasd/internal/kafka"
)

// leveledQuota is an entity with what holds and where each value is from,
// for JSON.
type leveledQuota struct {
	Entity   []component        `json:"entity"`
	Values   map[string]float64 `json:"values"`
	Base     map[string]float64 `json:"base"`     // from the credentials file
	Override map[string]float64 `json:"override"` // set over the Kafka API
}

// levels asks kaasd's pages for what Kafka's API does not tell: which of the
// values of a user are from the file.
func levels(ctx context.Context, base string, quotas kadm.DescribedClientQuotas) ([]leveledQuota, error) {
	all := []leveledQuota{}
	for _, q := range quotas {
		l := leveledQuota{components(q.Entity), valuesOf(q), map[string]float64{}, map[string]float64{}}
		i := slices.IndexFunc(q.Entity, func(c kadm.ClientQuotaEntityComponent) bool { return c.Type == kafka.EntityUser && c.Name != nil })
		if i >= 0 {
			var r admin.Resolution
			target := base + "/v1/quotas/resolve?" + url.Values{"user": {*q.Entity[i].Name}}.Encode()
			if _, err := getDocument(ctx, target, &r); err != nil {
				return nil, err
			}
			l.take(r)
		}
		all = append(all, l)
	}
	return all, nil
}

// take sorts the values of a resolution by where they are from.
func (l *leveledQuota) take(r admin.Resolution) {
	bySource := map[string]map[string]float64{"base": l.Base, "override": l.Override}
	for _, q := range r.Quotas {
		k, err := findQuotaKey(q.Quota)
		if err != nil {
			continue // a quota of a newer kaasd
		}
		if values := bySource[q.Source]; values != nil && q.Limit != nil {
			values[k.key] = *q.Limit
		}
		for _, h := range q.Hidden {
			if values := bySource[h.Source]; values != nil {
				values[k.key] = h.Limit
			}
		}
	}
}

func (a *app) showLevels(quotas kadm.DescribedClientQuotas, all []leveledQuota) error {
	if a.json() {
		return a.document(map[string]any{"quotas": all})
	}
	head := []string{"ENTITY"}
	for _, k := range quotaKeys[:3] {
		head = append(head, k.heading, "BASE", "OVERRIDE")
	}
	rows := [][]string{head}
	for i, q := range quotas {
		row := []string{entityText(q.Entity)}
		for _, k := range quotaKeys[:3] {
			for _, values := range []map[string]float64{all[i].Values, all[i].Base, all[i].Override} {
				cell := "-"
				if v, ok := values[k.key]; ok {
					cell = k.format(v)
				}
				row = append(row, cell)
			}
		}
		rows = append(rows, row)
	}
	table(a.out, "", rows)
	return nil
}
