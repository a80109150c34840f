package main

import (
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
	for _, q := range r.Quotas {
		rows = append(rows, []string{q.Quota, limitText(q), orElse(q.Level, "-"), orElse(q.Source, "-"), orElse(q.SharedBy, "-")})
	}
	table(a.out, "", rows)
	for _, q := range r.Hidden {
		a.printf("hidden: %s %s  %s  %s  (the override wins)\n", q.Quota, limitText(q), q.Level, q.Source)
	}
}

func limitText(q admin.Resolved) string {
	if q.Limit == nil {
		return "none"
	}
	return formatQuota(q.Quota, *q.Limit)
}
