package main

import (
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is short: whoever asks asks again.
const healthTimeout = 2 * time.Second

func newHealth(a *app) *cobra.Command {
	var page pageFlag
	var client clientFlags
	var overKafka bool
	c := &cobra.Command{
		Use:   "health",
		Short: "exit 0 if the broker is ready, 1 if it is not",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if overKafka {
				return a.healthOverKafka(c, &client)
			}
			p, err := page.open(a)
			if err != nil {
				return err
			}
			got, err := p.get(c.Context(), "/readyz", healthTimeout)
			if err != nil {
				return unhealthy(err)
			}
			return a.showHealth(got.code == http.StatusOK, firstLine(got.body))
		},
	}
	page.add(c)
	client.add(c)
	c.Flags().BoolVar(&overKafka, "kafka", false, "ask the Kafka port with ApiVersions instead")
	return c
}

func (a *app) healthOverKafka(c *cobra.Command, client *clientFlags) error {
	r, err := a.connect(c.Context(), client)
	if err != nil {
		return unhealthy(err)
	}
	r.Close()
	return a.showHealth(true, "ready")
}

func (a *app) showHealth(ready bool, line string) error {
	if a.json() {
		if err := a.document(map[string]any{"ready": ready, "detail": line}); err != nil {
			return err
		}
	} else {
		a.printf("%s\n", line)
	}
	if !ready {
		return silent(exitFailed)
	}
	return nil
}

// unhealthy is a broker that does not answer, for whoever watches over it:
// HEALTHCHECK knows 0 and 1.
func unhealthy(err error) error {
	var e *exitError
	if errors.As(err, &e) && e.code == exitUnreachable {
		return &exitError{code: exitFailed, err: e.err}
	}
	return err
}
