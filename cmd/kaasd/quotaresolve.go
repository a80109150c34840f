package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"kaasd/internal/admin"
	"kaasd/internal/quota"
)

func newQuotaResolve(a *app) *cobra.Command {
	var page pageFlag
	c := &cobra.Command{
		Use:   "resolve",
		Short: "say which limits hold for a user, client id or address, and why",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.resolve(c, page) },
	}
	page.add(c)
	c.Flags().String("user", "", "the user (ANONYMOUS without a log-in)")
	c.Flags().String("client-id", "", "the client id")
	c.Flags().String("ip", "", "the address that connections come from")
	return c
}

func (a *app) resolve(c *cobra.Command, page pageFlag) error {
	whom := url.Values{}
	for flag, parameter := range map[string]string{"user": "user", "client-id": "client_id", "ip": "ip"} {
		if c.Flags().Changed(flag) {
			whom.Set(parameter, c.Flag(flag).Value.String())
		}
	}
	if len(whom) == 0 {
		return usagef("for whom? (--user, --client-id, --ip)")
	}
	p, err := page.open(a)
	if err != nil {
		return err
	}
	var r admin.Resolution
	raw, err := p.document(c.Context(), "/v1/quotas/resolve?"+whom.Encode(), &r)
	if err != nil {
		return err
	}
	if a.json() {
		a.printf("%s", raw)
		return nil
	}
	if !whom.Has("user") && whom.Has("client_id") {
		a.note("of user %s (--user names another)", *r.User)
	}
	a.showResolution(r)
	return nil
}

func (a *app) showResolution(r admin.Resolution) {
	if len(r.Quotas) == 0 {
		a.note("no quotas of addresses here (quota.model=kafka has them)")
		return
	}
	rows := [][]string{{"QUOTA", "LIMIT", "LEVEL", "SOURCE", "SHARED BY"}}
	var hidden string
	for _, q := range r.Quotas {
		rows = append(rows, []string{q.Quota, limitCell(q), orElse(q.Level, "-"), orElse(q.Source, "-"), orElse(q.SharedBy, "-")})
		for _, h := range q.Hidden {
			hidden += fmt.Sprintf("hidden: %s %s  %s  %s  (%s wins)\n", q.Quota, formatQuota(q.Quota, h.Limit), h.Level, h.Source, winner(q, h))
		}
	}
	table(a.out, "", rows)
	a.printf("%s", hidden)
}

// limitCell says so when a limit is kept and nobody is held to it.
func limitCell(q quota.Resolution) string {
	switch {
	case q.Limit == nil:
		return "none"
	case !q.Enforced:
		return formatQuota(q.Quota, *q.Limit) + " (stored, not enforced)"
	}
	return formatQuota(q.Quota, *q.Limit)
}

// winner is what keeps a value from applying: an override at its own level,
// or the level that decides.
func winner(q quota.Resolution, h quota.Hidden) string {
	overridden := q.Limit == nil || q.Level == h.Level
	for _, other := range q.Hidden {
		overridden = overridden || other.Level == h.Level && other.Source != h.Source
	}
	if overridden && h.Source == "base" {
		return "the override"
	}
	return q.Level
}
