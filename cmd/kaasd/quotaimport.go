package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

// quotaImport is what the flags of quota import say.
type quotaImport struct {
	client                            clientFlags // the cluster to change
	from                              clientFlags // the cluster to read, instead of a file
	replace, skipUnknown, dryRun, yes bool
}

func newQuotaImport(a *app) *cobra.Command {
	var f quotaImport
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "bring the quotas of a file, or of another cluster, into this one",
		Long: `Import shows what would change and applies it after a yes.

FILE (or - for stdin) holds what kaasd quota export, rpk cluster quotas describe
--format json, kcl quota describe --format json or kafka-configs.sh --describe
has printed. Quotas that it does not name stay, unless --replace is given.`,
		Args: atMostOne("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), a, args) },
	}
	f.client.add(c)
	c.Flags().StringVar(&f.from.bootstrap, "from-bootstrap", "", "read the quotas of this cluster, host:port, instead of a file")
	c.Flags().StringVar(&f.from.commandConfig, "from-command-config", "", "a file of Kafka client properties for --from-bootstrap")
	c.Flags().BoolVar(&f.replace, "replace", false, "also remove what the source does not name")
	c.Flags().BoolVar(&f.skipUnknown, "skip-unknown", false, "leave out quota keys and entity types that are not known here")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "check, change nothing")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	return c
}

func (f *quotaImport) run(ctx context.Context, a *app, args []string) error {
	stated, err := f.source(ctx, a, args)
	if err != nil {
		return err
	}
	wanted, unknown, err := gather(stated)
	if err != nil {
		return err
	}
	if err := f.judge(a, unknown); err != nil {
		return err
	}
	r, err := a.connect(ctx, &f.client)
	if err != nil {
		return err
	}
	defer r.Close()
	hold, err := r.describe(ctx, nil)
	if err != nil {
		return err
	}
	return f.apply(ctx, a, r, quotaChanges(hold, wanted, f.replace))
}

// source is what the file, stdin or the other cluster states.
func (f *quotaImport) source(ctx context.Context, a *app, args []string) ([]statedQuota, error) {
	switch {
	case f.from.bootstrap != "" && len(args) > 0:
		return nil, usagef("FILE and --from-bootstrap exclude each other")
	case f.from.bootstrap != "":
		return f.cluster(ctx, a)
	case f.from.commandConfig != "":
		return nil, usagef("--from-command-config needs --from-bootstrap")
	case len(args) == 0:
		return nil, usagef("import from where? (FILE, - for stdin, or --from-bootstrap)")
	case args[0] == "-":
		return readQuotas("stdin", a.in)
	}
	file, err := os.Open(args[0])
	if err != nil {
		return nil, exitWith(exitInput, "%s: %w", args[0], pathCause(err))
	}
	defer file.Close()
	return readQuotas(args[0], file)
}

// maxQuotaFile is far above what the quotas of any cluster take.
const maxQuotaFile = 64 << 20

func readQuotas(name string, r io.Reader) ([]statedQuota, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxQuotaFile+1))
	if err != nil {
		return nil, exitWith(exitInput, "%s: %w", name, pathCause(err))
	}
	if len(raw) > maxQuotaFile {
		return nil, exitWith(exitInput, "%s: is larger than %s", name, formatSize(maxQuotaFile))
	}
	return readQuotaFile(name, raw)
}

func (f *quotaImport) cluster(ctx context.Context, a *app) ([]statedQuota, error) {
	r, err := a.connect(ctx, &f.from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	quotas, err := r.describe(ctx, nil)
	if err != nil {
		return nil, err
	}
	var all []statedQuota
	for _, q := range quotas {
		for _, v := range q.Values {
			all = append(all, statedQuota{r.address, q.Entity, v.Key, v.Value})
		}
	}
	return all, nil
}

// judge refuses what kaasd has no word for, or names it and goes on.
func (f *quotaImport) judge(a *app, unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	if !f.skipUnknown {
		return joinedLines(exitInput, unknown, "%s is not known here (--skip-unknown leaves it out)")
	}
	for _, text := range unknown {
		a.note("skipped: %s", printable(text))
	}
	return nil
}

// apply shows the changes, asks, sends them and says what became of them.
func (f *quotaImport) apply(ctx context.Context, a *app, r *remote, changes []alteration) error {
	if len(changes) == 0 && !a.json() {
		a.note("nothing to change")
		return nil
	}
	f.show(a, changes)
	if err := f.confirm(a, r, changes); err != nil {
		return err
	}
	imported, err := f.send(ctx, r, changes)
	if a.json() {
		if err := a.document(map[string]any{"changes": imported, "applied": !f.dryRun}); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return f.sum(a, imported)
}

// show writes the changes where the answer goes; beside it when that is JSON
// and somebody is to be asked.
func (f *quotaImport) show(a *app, changes []alteration) {
	w := a.out
	if a.json() {
		w = a.err
		if f.yes || f.dryRun {
			return
		}
	}
	for _, c := range changes {
		c.show(w, f.dryRun)
	}
}

func (f *quotaImport) confirm(a *app, r *remote, changes []alteration) error {
	if len(changes) == 0 {
		return nil
	}
	return a.confirm(f.yes || f.dryRun, fmt.Sprintf("change the quotas of %s of %s?", counted(len(changes), "entity", "entities"), r.address))
}

// imported is one entity of an import, for JSON.
type imported struct {
	Entity  []component `json:"entity"`
	Changes []changed   `json:"changes"`
	Applied bool        `json:"applied"`
	Error   string      `json:"error,omitempty"`

	name    string
	refusal error
}

// importBatch is how many entities one request changes.
const importBatch = 1000

// send gives what became of each change that the broker has answered.
func (f *quotaImport) send(ctx context.Context, r *remote, changes []alteration) ([]imported, error) {
	done := []imported{}
	for batch := range slices.Chunk(changes, importBatch) {
		refused, err := r.alter(ctx, batch, f.dryRun)
		if err != nil && len(done) > 0 {
			err = fmt.Errorf("%w (after %s)", err, counted(len(done), "entity", "entities"))
		}
		if err != nil {
			return done, err
		}
		for _, c := range batch {
			i := imported{name: printable(entityText(c.entity)), Entity: components(c.entity), Changes: c.changes(), refusal: refused[entityKey(c.entity)]}
			i.Applied = i.refusal == nil && !f.dryRun
			if i.refusal != nil {
				i.Error = i.refusal.Error()
			}
			done = append(done, i)
		}
	}
	return done, nil
}

// sum says how much was done, and which entities the broker refused.
func (f *quotaImport) sum(a *app, all []imported) error {
	var refused []string
	for _, i := range all {
		if i.refusal != nil {
			refused = append(refused, i.name+": "+i.Error)
		}
	}
	switch {
	case len(all) == 0:
		a.note("nothing to change")
	case !f.dryRun:
		a.note("changed %d of %s", len(all)-len(refused), counted(len(all), "entity", "entities"))
	}
	if len(refused) == 0 {
		return nil
	}
	return joinedLines(exitRefused, refused, "%s")
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
