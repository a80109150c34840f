package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/kafka"
)

// alteration is one change of one entity's quotas, as asked for.
type alteration struct {
	entity kadm.ClientQuotaEntity
	ops    []kadm.AlterClientQuotaOp
	old    map[string]float64 // what holds before it
	new    map[string]float64 // what holds after it; nil: not known
}

func newQuotaSet(a *app) *cobra.Command {
	return newQuotaAlter(a, "set KEY=VALUE...", "set quotas of one entity: produce=10MiB fetch=20MiB", parseSets)
}

func newQuotaUnset(a *app) *cobra.Command {
	return newQuotaAlter(a, "unset KEY...", "lift quotas of one entity: produce fetch", parseUnsets)
}

func newQuotaAlter(a *app, use, short string, parse func([]string, kadm.ClientQuotaEntity) ([]kadm.AlterClientQuotaOp, error)) *cobra.Command {
	var client clientFlags
	var who entityFlags
	var change alteration
	var dryRun bool
	c := &cobra.Command{Use: use, Short: short, Long: short + "\n\n" + quotaHelp, RunE: func(c *cobra.Command, args []string) (err error) {
		if change.entity, err = who.oneEntity(c); err != nil {
			return err
		}
		if change.ops, err = parse(args, change.entity); err != nil {
			return err
		}
		r, err := a.connect(c.Context(), &client)
		if err != nil {
			return err
		}
		defer r.Close()
		return a.alter(c.Context(), r, change, dryRun)
	}}
	client.add(c)
	who.add(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check, change nothing")
	return c
}

// quotaHelp is the help of both commands.
const quotaHelp = `Keys, by their short names or Kafka's:
  produce     producer_byte_rate        bytes a second: 1048576, 1MiB, 10MB (decimal)
  fetch       consumer_byte_rate        the same
  request     request_percentage        percent of one thread: 50%
  mutation    controller_mutation_rate  partitions made or deleted a second: 10/s
  connection  connection_creation_rate  new connections a second, of an address: 10/s

A user and a client id together name the pair; the defaults stand for all that
have no quota of their own. Where the broker is kaasd, all but produce, fetch and
request (which is only stored) of a named user needs quota.model=kafka.`

func parseSets(args []string, e kadm.ClientQuotaEntity) ([]kadm.AlterClientQuotaOp, error) {
	if len(args) == 0 {
		return nil, usagef("set what? (produce=10MiB fetch=20MiB request=50%%)")
	}
	var ops []kadm.AlterClientQuotaOp
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, usagef("%q is not KEY=VALUE (produce=10MiB)", arg)
		}
		k, err := findQuotaKey(name)
		if err != nil {
			return nil, err
		}
		v, err := k.parse(text)
		if err != nil {
			return nil, usagef("%s: %w", k.key, err)
		}
		if v <= 0 {
			return nil, usagef("%s=%s is not a quota: it must be above zero (to lift it: kaasd quota unset %s %s)", k.key, text, entityFlagsText(e), k.short)
		}
		ops = append(ops, kadm.AlterClientQuotaOp{Key: k.key, Value: v})
	}
	return ops, onlyOnce(ops)
}

func parseUnsets(args []string, _ kadm.ClientQuotaEntity) ([]kadm.AlterClientQuotaOp, error) {
	if len(args) == 0 {
		return nil, usagef("unset what? (produce, fetch, request, mutation, connection)")
	}
	var ops []kadm.AlterClientQuotaOp
	for _, arg := range args {
		k, err := findQuotaKey(arg)
		if err != nil {
			return nil, err
		}
		ops = append(ops, kadm.AlterClientQuotaOp{Key: k.key, Remove: true})
	}
	return ops, onlyOnce(ops)
}

func onlyOnce(ops []kadm.AlterClientQuotaOp) error {
	seen := map[string]bool{}
	for _, op := range ops {
		if seen[op.Key] {
			return usagef("%s stands twice", op.Key)
		}
		seen[op.Key] = true
	}
	return nil
}

// alter looks at what holds, changes it, and says both.
func (a *app) alter(ctx context.Context, r *remote, change alteration, dryRun bool) error {
	var err error
	if change.old, err = r.values(ctx, change.entity); err != nil {
		return err
	}
	refused, err := r.alter(ctx, []alteration{change}, dryRun)
	if err != nil {
		return err
	}
	for _, err := range refused {
		return err
	}
	if !dryRun {
		if change.new, err = r.values(ctx, change.entity); err != nil {
			return err
		}
	}
	return a.showAlteration(change, dryRun)
}

// values are the quotas of one entity.
func (r *remote) values(ctx context.Context, e kadm.ClientQuotaEntity) (map[string]float64, error) {
	quotas, err := r.describe(ctx, e)
	values := map[string]float64{}
	for _, q := range quotas {
		values = valuesOf(q)
	}
	return values, err
}

// alter sends changes in one request, and gives the refusals by entity.
func (r *remote) alter(ctx context.Context, changes []alteration, dryRun bool) (map[kafka.Entity]error, error) {
	var entries []kadm.AlterClientQuotaEntry
	for _, c := range changes {
		entries = append(entries, kadm.AlterClientQuotaEntry{Entity: c.entity, Ops: c.ops})
	}
	send := r.AlterClientQuotas
	if dryRun {
		send = r.ValidateAlterClientQuotas
	}
	results, err := send(ctx, entries)
	if err != nil {
		return nil, r.failed("the change", err)
	}
	refused := map[kafka.Entity]error{}
	for _, result := range results {
		if result.Err != nil {
			refused[entityKey(result.Entity)] = refusedWith(r.address, "the change", result.Err, result.ErrMessage)
		}
	}
	return refused, nil
}

// changed is one key of an alteration, for JSON; null is no quota.
type changed struct {
	Key string   `json:"key"`
	Old *float64 `json:"old"`
	New *float64 `json:"new"`

	fromFile bool // what shows again where a value was removed
}

func (c alteration) changes() []changed {
	var all []changed
	for _, op := range c.ops {
		change := changed{Key: op.Key}
		if v, ok := c.old[op.Key]; ok {
			change.Old = &v
		}
		if !op.Remove {
			change.New = &op.Value
		} else if v, shows := c.new[op.Key]; shows && v != c.old[op.Key] { // the same is what other brokers show for a moment
			change.New, change.fromFile = &v, true
		}
		all = append(all, change)
	}
	return all
}

func (a *app) showAlteration(c alteration, dryRun bool) error {
	if !dryRun {
		a.done("the quotas of %s were changed", entityText(c.entity))
	}
	if a.json() {
		return a.document(map[string]any{"entity": components(c.entity), "changes": c.changes(), "applied": !dryRun})
	}
	c.show(a.out, dryRun)
	return nil
}

// show writes the entity and, below it, what its quotas become.
func (c alteration) show(w io.Writer, dryRun bool) {
	fmt.Fprintf(w, "%s\n", printable(entityText(c.entity)))
	table(w, "  ", alterationRows(c.changes(), dryRun))
}

func alterationRows(all []changed, dryRun bool) [][]string {
	widest := 0
	for _, c := range all {
		widest = max(widest, len(quotaOrNone(c.Key, c.Old)))
	}
	var rows [][]string
	for _, c := range all {
		old := quotaOrNone(c.Key, c.Old)
		text := old + strings.Repeat(" ", widest-len(old)) + " -> " + quotaOrNone(c.Key, c.New)
		switch {
		case dryRun:
			text += "   (not applied: --dry-run)"
		case c.fromFile:
			text += "   (from the credentials file)"
		}
		rows = append(rows, []string{c.Key + " ", text})
	}
	return rows
}

func quotaOrNone(key string, v *float64) string {
	if v == nil {
		return "none"
	}
	return formatQuota(key, *v)
}
