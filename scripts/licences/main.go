package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := check(os.Stdout, "kaasd/cmd/kaasd"); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// check prints the licences of all modules and fails for those that may not be
// given away as kaasd is.
func check(out io.Writer, pkg string) error {
	all, err := modules(pkg)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var faults []string
	for _, m := range all {
		names, err := m.licences()
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s %s %v", m.path, m.version, err))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", m.path, m.version, strings.Join(names, " AND "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d of %d modules cannot be in the binary:\n  %s", len(faults), len(all), strings.Join(faults, "\n  "))
	}
	return nil
}
