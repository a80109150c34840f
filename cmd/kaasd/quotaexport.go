package main

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func newQuotaExport(a *app) *cobra.Command {
	var client clientFlags
	c := &cobra.Command{
		Use:   "export",
		Short: "print all quotas as JSON, for kaasd quota import",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.mustBeRead("the quotas"); err != nil {
				return err
			}
			r, err := a.connect(c.Context(), &client)
			if err != nil {
				return err
			}
			defer r.Close()
			quotas, err := r.describe(c.Context(), nil)
			if err != nil {
				return err
			}
			return a.export(quotas)
		},
	}
	client.add(c)
	return c
}

// export writes the document of describe with one entity a line, so that two
// exports can be compared line by line. JSON cannot hold a name that is not
// UTF-8: that is an error, since whoever keeps the file would miss it later.
func (a *app) export(quotas kadm.DescribedClientQuotas) error {
	var wrong []error
	var lines []string
	for _, q := range quotas {
		if !isText(q.Entity) {
			wrong = append(wrong, exitWith(exitFailed, "%s is left out: JSON cannot hold a name that is not UTF-8", entityText(q.Entity)))
			continue
		}
		line, err := jsonLine(describedQuota{components(q.Entity), valuesOf(q)})
		if err != nil {
			return err
		}
		lines = append(lines, "\n"+line)
	}
	a.printf("{\"quotas\":[%s\n]}\n", strings.Join(lines, ","))
	return errors.Join(wrong...)
}

func isText(e kadm.ClientQuotaEntity) bool {
	for _, c := range e {
		if c.Name != nil && !utf8.ValidString(*c.Name) {
			return false
		}
	}
	return true
}
