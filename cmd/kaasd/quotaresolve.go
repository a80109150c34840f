package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"kaasd/internal/admin"
)

func newQuotaResolve(a *app) *cobra.Command {
	var page pageFlag
	var user, clientID string
	c := &cobra.Command{
		Use:   "resolve",
		Short: "say which limits hold for a user and client id, and why",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("user") && !c.Flags().Changed("client-id") {
				return usagef("for whom? (--user, --client-id, or both)")
			}
			base, err := page.base(a)
			if err != nil {
				return err
			}
			target := base + "/v1/quotas/resolve?" + url.Values{"user": {user}, "client_id": {clientID}}.Encode()
			var r admin.Resolution
			raw, err := getDocument(c.Context(), target, &r)
			if err != nil {
				return err
			}
			if a.json() {
				a.printf("%s", raw)
				return nil
			}
			a.showResolution(r)
			return nil
		},
	}
	page.add(c)
	c.Flags().StringVar(&user, "user", "", "the user (ANONYMOUS without a log-in)")
	c.Flags().StringVar(&clientID, "client-id", "", "the client id")
	return c
}

func (a *app) showResolution(r admin.Resolution) {
	rows := [][]string{{"QUOTA", "LIMIT", "LEVEL", "SOURCE", "SHARED BY"}}
	var hidden []string
	for _, q := range r.Quotas {
		limit := "none"
		if q.Limit != nil {
			limit = formatQuota(q.Quota, *q.Limit)
		}
		rows = append(rows, []string{q.Quota, limit, orElse(q.Level, "-"), orElse(q.Source, "-"), orElse(q.SharedBy, "-")})
		for _, h := range q.Hidden {
			hidden = append(hidden, fmt.Sprintf("hidden: %s %s  %s  %s  (the override wins)\n", q.Quota, formatQuota(q.Quota, h.Limit), h.Level, h.Source))
		}
	}
	table(a.out, "", rows)
	for _, line := range hidden {
		a.printf("%s", line)
	}
}
