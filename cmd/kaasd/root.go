package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newRoot is the tree of commands.
func newRoot(a *app) *cobra.Command {
	a.stdout = &stdout{to: a.out}
	a.out = a.stdout
	root := &cobra.Command{
		Use:           "kaasd",
		Short:         "a Kafka-compatible broker with client quotas",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE:          a.shortHelp,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return a.checkFormat()
		},
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.Version = thisBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().StringVarP(&a.format, "output", "o", "table", "how the answer is written: table or json")
	root.PersistentFlags().BoolVar(&a.noColor, "no-color", false, "no colours (NO_COLOR does the same)")
	root.AddCommand(newStart(a), newDemo(a), newHealth(a), newQuota(a), newUser(a), newCredentials(a), newStorage(a), newWire(a), newConfig(a), newVersion(a))
	return root
}

func (a *app) checkFormat() error {
	if a.format != "table" && a.format != "json" {
		return usagef("--output=%s is not a form (table or json)", a.format)
	}
	return nil
}

// group makes a command that only holds others.
func group(a *app, use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noSuchCommand, RunE: a.shortHelp}
	c.AddCommand(children...)
	return c
}

// shortHelp is what a command that needs a word more says.
func (a *app) shortHelp(c *cobra.Command, _ []string) error {
	fmt.Fprintf(a.err, "%s: %s\n\n", c.CommandPath(), c.Short)
	rows := [][]string{}
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			rows = append(rows, []string{child.Name(), child.Short})
		}
	}
	table(a.err, "  ", rows)
	fmt.Fprintf(a.err, "\n%s COMMAND -h says more\n", c.CommandPath())
	return silent(exitUsage)
}

func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			known = append(known, child.Name())
		}
	}
	return usagef("unknown command %q%s", args[0], didYouMean(args[0], known, c.CommandPath()+" -h lists them"))
}

// noArgs refuses arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, not %q", c.CommandPath(), args[0])
	}
	return nil
}

// oneArg asks for exactly one argument, called name.
func oneArg(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("%s is missing (%s %s)", name, c.CommandPath(), name)
		case len(args) > 1:
			return usagef("%s takes one %s, not %q too", c.CommandPath(), name, args[1])
		}
		return nil
	}
}

// atMostOne allows one argument, called name.
func atMostOne(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%s takes one %s, not %q too", c.CommandPath(), name, args[1])
		}
		return nil
	}
}

// flagError says in the house's manner what pflag found.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown) && c.HasSubCommands() && c.Flags().NArg() > 0: // "quota sett --user a"
		return noSuchCommand(c, c.Flags().Args())
	case errors.As(err, &unknown):
		return usagef("unknown flag %s%s", dashed(unknown), didYouMean(dashed(unknown), flagNames(c), c.CommandPath()+" -h lists them"))
	case errors.As(err, &value):
		return usagef("--%s: %s", value.GetFlag().Name, flagCause(value))
	case errors.As(err, &missing):
		return usagef("--%s needs a value", missing.GetFlag().Name)
	}
	return &exitError{code: exitUsage, err: err}
}

func dashed(e *pflag.NotExistError) string {
	if short := e.GetSpecifiedShortnames(); short != "" {
		return "-" + e.GetSpecifiedName()
	}
	return "--" + e.GetSpecifiedName()
}

func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// flagCause is what is wrong with a flag's value. The errors of strconv speak
// of its functions: they are said anew.
func flagCause(e *pflag.InvalidValueError) string {
	cause := e.Unwrap()
	if cause == nil || strings.Contains(cause.Error(), "strconv.") || strings.Contains(cause.Error(), "time:") {
		return fmt.Sprintf("%q is not a %s", e.GetValue(), kindOfFlag(e.GetFlag().Value.Type()))
	}
	return cause.Error()
}

// kindOfFlag is what people call a type of pflag.
func kindOfFlag(name string) string {
	switch {
	case strings.HasPrefix(name, "int"):
		return "whole number"
	case name == "duration":
		return "duration (such as 500ms, 30s or 1h)"
	case name == "bool":
		return "switch (true or false)"
	}
	return name
}
