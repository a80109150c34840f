package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"kaasd/internal/broker"
)

func newConfig(a *app) *cobra.Command {
	return group(a, "config", "show, check and write settings",
		newConfigShow(a), newConfigValidate(a), newConfigInit(a), newConfigEnv(a))
}

// shown is a setting with what holds and why.
type shown struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func newConfigShow(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "show",
		Short: "print each setting with its value and the source that won",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			g, _, err := a.load(c)
			if err != nil {
				return err
			}
			return a.showSettings(g)
		},
	}
	optionFlags(c)
	return c
}

func (a *app) showSettings(g *given) error {
	if note := g.ignoredNotice(); note != "" {
		a.note("%s", note)
	}
	var all []shown
	rows := [][]string{{"KEY", "VALUE", "SOURCE"}}
	for _, o := range g.table {
		v := g.value(o)
		all = append(all, shown{o.key, v.text, v.origin()})
		rows = append(rows, []string{o.key, orElse(v.text, "-"), v.origin()})
	}
	if a.json() {
		return a.document(map[string]any{"settings": all})
	}
	table(a.out, "", rows)
	return nil
}

func newConfigValidate(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "check settings, and the files that they name, without starting",
		Args:  atMostOne("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := c.Flags().Set("config", args[0]); err != nil {
					return err
				}
			}
			g, err := a.gather(c)
			s, settled := g.settle()
			if err := errors.Join(err, settled); err != nil {
				return err
			}
			warnings := newLogger(a.err, zap.WarnLevel, true, isTerminal(a.err) && a.colours())
			if err := broker.CheckFiles(s.Config, warnings); err != nil {
				return startError(err)
			}
			s.warn(warnings)
			return a.validSettings(g)
		},
	}
	optionFlags(c)
	return c
}

func (a *app) validSettings(g *given) error {
	if a.json() {
		return a.document(map[string]any{"valid": true, "file": g.file, "given": len(g.values), "ignored": append([]string{}, g.ignored...)})
	}
	if note := g.ignoredNotice(); note != "" {
		a.note("%s", note)
	}
	a.printf("%s: valid, %s\n", orElse(g.file, "no file"), count(len(g.values), "setting"))
	return nil
}

// count is "1 setting", "2 settings".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func newConfigInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "print a settings file with every key and what it means",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json() {
				return a.document(map[string]any{"settings": describeOptions()})
			}
			a.printf("%s", settingsFile())
			return nil
		},
	}
}

// settingsFile is a YAML file in which every key stands as a comment, at its
// default.
func settingsFile() string {
	var b strings.Builder
	b.WriteString("# Settings of kaasd. A flag wins over a KAASD_ variable, that over a KAFKA_\n# variable, that over this file. What is commented out is the default.\n")
	for _, o := range options() {
		fmt.Fprintf(&b, "\n# %s\n#%s:%s\n", describeLine(o), o.key, yamlText(o.def))
	}
	return b.String()
}

// describeLine is what an option means, with what holds when it is empty.
func describeLine(o option) string {
	line := o.doc
	if o.unset != "" && o.def == "" {
		line += " (empty: " + o.unset + ")"
	}
	return line
}

func yamlText(text string) string {
	switch {
	case text == "":
		return ` ""`
	case strings.ContainsAny(text, "#{}[]&*!|>'\"%@`") || strings.Contains(text, ": "):
		return fmt.Sprintf(" %q", text)
	}
	return " " + text
}

func newConfigEnv(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "print every variable with its default",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json() {
				return a.document(map[string]any{"settings": describeOptions()})
			}
			for _, o := range options() {
				a.printf("# %s%s\n%s=%s\n", describeLine(o), alsoKnown(o), o.variable(), shellText(o.def))
			}
			return nil
		},
	}
}

func alsoKnown(o option) string {
	if names := o.kafkaVariables(); len(names) > 0 {
		return "; also " + strings.Join(names, ", ")
	}
	return ""
}

// shellText quotes what a shell would read otherwise.
func shellText(text string) string {
	if strings.ContainsAny(text, " ;&|<>()$`\\\"'*?[]#~") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// described is one option for machines.
type described struct {
	Key       string   `json:"key"`
	Flag      string   `json:"flag"`
	Variables []string `json:"variables"`
	Type      string   `json:"type"`
	Choices   []string `json:"choices,omitempty"`
	Default   string   `json:"default"`
	Live      bool     `json:"live"`
	Doc       string   `json:"doc"`
}

func describeOptions() []described {
	var all []described
	for _, o := range options() {
		all = append(all, described{
			Key: o.key, Flag: "--" + o.flag(), Variables: slices.Concat([]string{o.variable()}, o.kafkaVariables()),
			Type: o.kind, Choices: o.choices, Default: o.def, Live: o.live, Doc: describeLine(o),
		})
	}
	return all
}
