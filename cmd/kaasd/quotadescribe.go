package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func newQuota(a *app) *cobra.Command {
	return group(a, "quota", "show and change quotas, of any Kafka cluster",
		newQuotaDescribe(a), newQuotaSet(a), newQuotaUnset(a), newQuotaResolve(a),
		newQuotaTop(a), newQuotaExport(a), newQuotaImport(a))
}

func newQuotaDescribe(a *app) *cobra.Command {
	var client clientFlags
	var who entityFlags
	var page pageFlag
	var allLevels bool
	c := &cobra.Command{
		Use:   "describe",
		Short: "print quotas: of one entity, or all",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := who.entity(c)
			if err != nil {
				return err
			}
			r, err := a.connect(c.Context(), &client)
			if err != nil {
				return err
			}
			defer r.Close()
			quotas, err := r.describe(c.Context(), e)
			if err != nil {
				return err
			}
			if !allLevels || len(quotas) == 0 {
				return a.showQuotas(quotas)
			}
			return a.describeLevels(c.Context(), r, page, quotas)
		},
	}
	client.add(c)
	who.add(c)
	page.add(c)
	c.Flags().BoolVar(&allLevels, "all-levels", false, "base and override in columns of their own; asks kaasd's pages too")
	return c
}

func (a *app) describeLevels(ctx context.Context, r *remote, page pageFlag, quotas kadm.DescribedClientQuotas) error {
	p, err := page.open(a)
	if err != nil {
		return err
	}
	if err := r.hasPages(ctx, p); err != nil {
		return err
	}
	all, err := levels(ctx, p, quotas)
	if err != nil {
		return err
	}
	return a.showLevels(quotas, all)
}

// describe asks for the quotas of one entity, or of all when it is empty.
func (r *remote) describe(ctx context.Context, e kadm.ClientQuotaEntity) (kadm.DescribedClientQuotas, error) {
	quotas, err := r.DescribeClientQuotas(ctx, len(e) > 0, exactly(e))
	if err != nil {
		return nil, r.failed("the listing of quotas", err)
	}
	slices.SortStableFunc(quotas, byEntity)
	return quotas, nil
}

// failed puts the broker's own words before the general ones of its code.
func (r *remote) failed(what string, err error) error {
	var told *kadm.ErrAndMessage
	if errors.As(err, &told) {
		return refusedWith(r.address, what, told.Err, told.ErrMessage)
	}
	return failure(r.address, what, err)
}

func byEntity(x, y kadm.DescribedClientQuota) int {
	return strings.Compare(sortKey(x.Entity), sortKey(y.Entity))
}

// sortKey puts users before client ids before addresses, and names before
// defaults.
func sortKey(e kadm.ClientQuotaEntity) string {
	var b strings.Builder
	for _, c := range e {
		if c.Name == nil {
			b.WriteString("1")
		}
	}
	for _, kind := range entityTypes {
		i := slices.IndexFunc(e, func(c kadm.ClientQuotaEntityComponent) bool { return c.Type == kind })
		switch {
		case i < 0:
			b.WriteString("\x01")
		case e[i].Name == nil:
			b.WriteString("\x00\x01")
		default:
			b.WriteString("\x00\x00" + *e[i].Name + "\x00")
		}
	}
	return b.String()
}

// describedQuota is one entity with its values, for JSON.
type describedQuota struct {
	Entity []component        `json:"entity"`
	Values map[string]float64 `json:"values"`
}

func (a *app) showQuotas(quotas kadm.DescribedClientQuotas) error {
	if a.json() {
		all := []describedQuota{}
		for _, q := range quotas {
			all = append(all, describedQuota{components(q.Entity), valuesOf(q)})
		}
		return a.document(map[string]any{"quotas": all})
	}
	if len(quotas) == 0 {
		a.note("no quotas")
		return nil
	}
	table(a.out, "", quotaRows(quotas))
	return nil
}

func valuesOf(q kadm.DescribedClientQuota) map[string]float64 {
	values := map[string]float64{}
	for _, v := range q.Values {
		values[v.Key] = v.Value
	}
	return values
}

// quotaRows are the table; the column of connection rates is there only when
// an address has one.
func quotaRows(quotas kadm.DescribedClientQuotas) [][]string {
	keys := quotaKeys[:4]
	for _, q := range quotas {
		if _, ok := valuesOf(q)[quotaKeys[4].key]; ok {
			keys = quotaKeys
		}
	}
	head := []string{"ENTITY"}
	for _, k := range keys {
		head = append(head, k.heading)
	}
	rows := [][]string{head}
	for _, q := range quotas {
		row := []string{entityText(q.Entity)}
		values := valuesOf(q)
		for _, k := range keys {
			text := "-"
			if v, ok := values[k.key]; ok {
				text = k.format(v)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows
}
