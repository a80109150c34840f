package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"kaasd/internal/admin"
)

// quotaTop is what the flags of quota top say.
type quotaTop struct {
	page     pageFlag
	interval time.Duration
	sort     string
	limit    int
	once     bool
}

func newQuotaTop(a *app) *cobra.Command {
	var f quotaTop
	c := &cobra.Command{
		Use:   "top",
		Short: "show who uses how much of which quota, every second",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.run(c.Context(), a) },
	}
	f.page.add(c)
	c.Flags().DurationVar(&f.interval, "interval", time.Second, "how often to look, and what THROTTLE/S and REQ/S are taken over")
	c.Flags().StringVar(&f.sort, "sort", topSorts[0], "the order: use, rate, throttle or user")
	c.Flags().IntVar(&f.limit, "limit", 20, "at most so many lines")
	c.Flags().BoolVar(&f.once, "once", false, "print one table (as it is done without a terminal, and for -o json)")
	return c
}

// minInterval keeps the question from becoming the load.
const minInterval = 100 * time.Millisecond

func (f *quotaTop) run(ctx context.Context, a *app) error {
	switch {
	case f.interval < minInterval:
		return usagef("--interval: %v is too short (%v at least)", f.interval, minInterval)
	case !slices.Contains(topSorts, f.sort):
		return usagef("--sort: %q is not an order (use, rate, throttle or user)", f.sort)
	case f.limit < 1:
		return usagef("--limit: %d is not above zero", f.limit)
	}
	p, err := f.page.open(a)
	if err != nil {
		return err
	}
	if f.once || a.json() || !isTerminal(a.in) || !isTerminal(a.out) {
		return f.table(ctx, a, p)
	}
	return f.screen(ctx, a, p)
}

// topSample is what the pages say at one moment.
type topSample struct {
	status admin.Status
	quotas admin.Quotas
}

func takeSample(ctx context.Context, p *pages) (s topSample, err error) {
	if _, err = p.document(ctx, "/v1/status", &s.status); err == nil {
		_, err = p.document(ctx, "/v1/quotas", &s.quotas)
	}
	return s, err
}

// table looks twice and prints once.
func (f *quotaTop) table(ctx context.Context, a *app, p *pages) error {
	first, err := takeSample(ctx, p)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(f.interval):
	}
	second, err := takeSample(ctx, p)
	if err != nil {
		return err
	}
	v := topView{limit: f.limit, sort: f.sort, interval: f.interval}
	v.take(first)
	v.take(second)
	rows := v.shown()
	switch {
	case a.json():
		return a.document(map[string]any{"as_of": second.quotas.AsOf, "version": second.status.Version, "counts": v.counts, "rows": rows})
	case len(rows) == 0:
		a.note("no quotas in force")
	default:
		table(a.out, "", topTable(rows))
	}
	return nil
}
