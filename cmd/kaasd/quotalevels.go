package main

import (
	"context"
	"net/url"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/admin"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
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
// values of a named user are from the file. Other entities have none there.
func levels(ctx context.Context, p *pages, quotas kadm.DescribedClientQuotas) ([]leveledQuota, error) {
	all := []leveledQuota{}
	for _, q := range quotas {
		l := leveledQuota{components(q.Entity), valuesOf(q), map[string]float64{}, valuesOf(q)}
		if len(q.Entity) == 1 && q.Entity[0].Type == kafka.EntityUser && q.Entity[0].Name != nil {
			var r admin.Resolution
			path := "/v1/quotas/resolve?" + url.Values{"user": {*q.Entity[0].Name}}.Encode()
			if _, err := p.document(ctx, path, &r); err != nil {
				return nil, err
			}
			l.take(r)
		}
		all = append(all, l)
	}
	return all, nil
}

// hasPages refuses the pages of another cluster, which would tell of its own
// users.
func (r *remote) hasPages(ctx context.Context, p *pages) error {
	var page admin.Status
	if _, err := p.document(ctx, "/v1/status", &page); err != nil {
		return err
	}
	cluster, err := r.BrokerMetadata(ctx)
	if err != nil {
		return r.failed("the question for its cluster", err)
	}
	if page.ClusterID != cluster.Cluster {
		return usagef("%s has the pages of another cluster than %s (--http names them)", p.base, r.address)
	}
	return nil
}

// take sorts the values that the user itself has by where they are from,
// whether they apply or are hidden.
func (l *leveledQuota) take(r admin.Resolution) {
	l.Override = map[string]float64{}
	for _, q := range r.Quotas {
		k, err := findQuotaKey(q.Quota)
		if err != nil {
			continue // a quota of a newer kaasd
		}
		values := q.Hidden
		if q.Limit != nil {
			values = append(values, quota.Hidden{Limit: *q.Limit, Level: q.Level, Source: q.Source})
		}
		for _, v := range values {
			switch {
			case v.Level != kafka.EntityUser:
			case v.Source == "base":
				l.Base[k.key] = v.Limit
			default:
				l.Override[k.key] = v.Limit
			}
		}
	}
}

func (a *app) showLevels(quotas kadm.DescribedClientQuotas, all []leveledQuota) error {
	if a.json() {
		return a.document(map[string]any{"quotas": all})
	}
	keys := leveledKeys(all)
	head := []string{"ENTITY"}
	for _, k := range keys {
		head = append(head, k.heading, "BASE", "OVERRIDE")
	}
	rows := [][]string{head}
	for i, q := range quotas {
		row := []string{entityText(q.Entity)}
		for _, k := range keys {
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

// leveledKeys are those with a column: bytes always, the others when somebody
// has one.
func leveledKeys(all []leveledQuota) []quotaKey {
	keys := slices.Clone(quotaKeys[:2])
	for _, k := range quotaKeys[2:] {
		if slices.ContainsFunc(all, func(l leveledQuota) bool {
			_, holds := l.Values[k.key]
			_, based := l.Base[k.key]
			return holds || based
		}) {
			keys = append(keys, k)
		}
	}
	return keys
}
