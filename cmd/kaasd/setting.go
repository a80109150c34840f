package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kaasd/internal/broker"
	"kaasd/internal/watch"
)

// defaultConfigFile is read when it exists and no other file is named. It is
// how the image says what differs from the bare binary.
const defaultConfigFile = "/etc/kaasd/kaasd.yaml"

// source is where a value came from, strongest first.
type source int

const (
	fromFlag source = iota
	fromVariable
	fromKafkaVariable
	fromFile
	fromDefault
)

// value is what was given for an option, and by whom.
type value struct {
	text   string
	source source
	name   string // --log-level, KAASD_LOG_LEVEL, kaasd.yaml:7; empty for the default
}

// origin says in words where the value came from.
func (v value) origin() string {
	switch v.source {
	case fromFlag:
		return "flag " + v.name
	case fromVariable, fromKafkaVariable:
		return "variable " + v.name
	case fromFile:
		return "file " + v.name
	}
	return "default"
}

// where begins an error message about the value.
func (v value) where(key string) string {
	if v.source == fromFile {
		return v.name + ": " + key
	}
	return orElse(v.name, key)
}

// exitCode is that of a process that cannot use the value.
func (v value) exitCode() int {
	if v.source == fromFile {
		return exitInput
	}
	return exitUsage
}

// given is everything that was said about the options.
type given struct {
	table   []option
	values  map[string]value // by key, the strongest one; none for a default
	ignored []string         // KAFKA_ variables that name no option
	file    string           // the settings file that was read; empty: none
}

// value is what holds for an option.
func (g *given) value(o option) value {
	if v, ok := g.values[o.key]; ok {
		return v
	}
	return value{text: o.def, source: fromDefault}
}

// ownVariables are the KAASD_ variables that are not of an option.
var ownVariables = []string{"KAASD_CONFIG", "KAASD_BOOTSTRAP_SERVER"}

// optionFlags adds one flag for each option, and --config.
func optionFlags(c *cobra.Command) {
	for _, o := range options() {
		c.Flags().Var(&optionFlag{kind: o.kind}, o.flag(), o.doc)
		if o.kind == kindBool {
			c.Flags().Lookup(o.flag()).NoOptDefVal = "true"
		}
	}
	c.Flags().String("config", "", "the settings file (KAASD_CONFIG; "+defaultConfigFile+" if it exists)")
}

// optionFlag keeps the text of a flag until all sources are weighed.
type optionFlag struct{ kind, text string }

// String is what was given.
func (f *optionFlag) String() string { return f.text }

// Set takes any text: the option judges it.
func (f *optionFlag) Set(text string) error { f.text = text; return nil }

// Type is the kind of the option's value.
func (f *optionFlag) Type() string { return f.kind }

// gather collects what flags, variables and file say. c may be nil: no flags.
// It looks twice: listeners have settings of their own, which are known when
// the listeners are.
func (a *app) gather(c *cobra.Command) (*given, error) {
	first, _ := a.gatherInto(options(), c)
	return a.gatherInto(append(options(), first.listenerOptions()...), c)
}

func (a *app) gatherInto(table []option, c *cobra.Command) (*given, error) {
	g := &given{table: table, values: map[string]value{}}
	variables := a.variables()
	path, must := configPath(c, variables)
	err := errors.Join(g.takeFile(path, must), g.takeVariables(variables))
	if c != nil {
		g.takeFlags(c)
	}
	return g, err
}

func (a *app) variables() map[string]string {
	all := make(map[string]string, len(a.env))
	for _, pair := range a.env {
		name, text, _ := strings.Cut(pair, "=")
		all[name] = text
	}
	return all
}

// configPath is the file to read, and whether it must be there.
func configPath(c *cobra.Command, variables map[string]string) (path string, must bool) {
	if c != nil {
		if f := c.Flags().Lookup("config"); f != nil && f.Changed {
			return f.Value.String(), true
		}
	}
	if path := variables["KAASD_CONFIG"]; path != "" {
		return path, true
	}
	return defaultConfigFile, false
}

func (g *given) takeFlags(c *cobra.Command) {
	for _, o := range g.table {
		if f := c.Flags().Lookup(o.flag()); f != nil && f.Changed {
			g.values[o.key] = value{f.Value.String(), fromFlag, "--" + o.flag()}
		}
	}
}

// settingsBytes is above the size of any settings file that is meant.
const settingsBytes = 1 << 20

// takeFile reads the settings file.
func (g *given) takeFile(path string, must bool) error {
	raw, err := watch.Read(path, settingsBytes)
	if errors.Is(err, os.ErrNotExist) && !must {
		return nil
	}
	if err != nil {
		return exitWith(exitInput, "%w (--config names another file)", err)
	}
	g.file = path
	pairs, err := readSettings(path, raw)
	wrong := []error{err}
	for _, p := range pairs {
		wrong = append(wrong, g.take(p))
	}
	return errors.Join(wrong...)
}

// take takes one key of the settings file.
func (g *given) take(p pair) error {
	i := slices.IndexFunc(g.table, func(o option) bool { return o.key == p.key })
	if i < 0 {
		return exitWith(exitInput, "%s: unknown key %q%s", p.where, p.key, didYouMean(p.key, g.keys(), "kaasd config init prints all keys"))
	}
	text, err := g.table[i].join(p)
	if err != nil {
		return exitWith(exitInput, "%s: %s %w", p.where, p.key, err)
	}
	g.values[p.key] = value{text, fromFile, p.where}
	return nil
}

// pathCause is the error below an os.PathError, whose path is told already.
func pathCause(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

func (g *given) keys() []string {
	var keys []string
	for _, o := range g.table {
		keys = append(keys, o.key)
	}
	return keys
}

// takeVariables reads the environment: Kafka's variables first, since our own
// are stronger.
func (g *given) takeVariables(variables map[string]string) error {
	known := map[string]bool{}
	for _, o := range g.table {
		for _, name := range o.kafkaVariables() {
			known[name] = true
			if text, ok := variables[name]; ok && g.value(o).source > fromKafkaVariable {
				g.values[o.key] = value{text, fromKafkaVariable, name}
			}
		}
		known[o.variable()] = true
		if text, ok := variables[o.variable()]; ok {
			g.values[o.key] = value{text, fromVariable, o.variable()}
		}
	}
	return g.strangers(variables, known)
}

// strangers refuses KAASD_ variables that name nothing and lists KAFKA_ ones.
func (g *given) strangers(variables map[string]string, known map[string]bool) error {
	var wrong []error
	for _, name := range sortedKeys(variables) {
		switch {
		case known[name] || slices.Contains(ownVariables, name) || serviceLink(name):
		case strings.HasPrefix(name, "KAFKA_"):
			g.ignored = append(g.ignored, name)
		case strings.HasPrefix(name, "KAASD_"):
			names := append(sortedKeys(known), ownVariables...)
			wrong = append(wrong, usagef("unknown variable %s%s", name, didYouMean(name, names, "kaasd config env lists them")))
		}
	}
	return errors.Join(wrong...)
}

// serviceLink says whether Kubernetes made the variable, for a Service whose
// name begins with ours: KAASD_SERVICE_HOST, KAASD_PORT_9092_TCP_ADDR, ...
func serviceLink(name string) bool {
	if !strings.HasPrefix(name, "KAASD_") {
		return false
	}
	return strings.HasSuffix(name, "_SERVICE_HOST") || strings.Contains(name, "_SERVICE_PORT") ||
		strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_TCP") || strings.Contains(name, "_UDP")
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// settle puts what was given into the settings, over the defaults, and
// reports everything that is wrong with it.
func (g *given) settle() (*settings, error) {
	s := &settings{Config: broker.Default(), logFormat: "auto"}
	var wrong []error
	for _, o := range g.table {
		v, ok := g.values[o.key]
		if !ok {
			continue
		}
		if err := o.put(s, strings.TrimSpace(v.text)); err != nil {
			wrong = append(wrong, exitWith(v.exitCode(), "%s: %w", v.where(o.key), err))
		}
	}
	wrong = append(wrong, g.settleListeners(s)...)
	g.settleCredentials(s)
	if err := errors.Join(wrong...); err != nil {
		return s, err
	}
	if err := s.Validate(); err != nil {
		return s, &exitError{code: g.blame(err), err: err}
	}
	return s, nil
}

// blame is the exit code for a configuration whose parts do not fit together:
// a file's, when only files spoke.
func (g *given) blame(error) int {
	for _, v := range g.values {
		if v.source != fromFile {
			return exitUsage
		}
	}
	return exitInput
}

// settleCredentials takes the image's file when it is there and none is named.
func (g *given) settleCredentials(s *settings) {
	if _, named := g.values["credentials.file"]; named {
		return
	}
	if _, err := os.Stat(defaultCredentials); err == nil {
		s.CredentialsFile = defaultCredentials
	}
}

// load is everything from the words given to a configuration.
func (a *app) load(c *cobra.Command) (*given, *settings, error) {
	g, err := a.gather(c)
	if err != nil {
		return g, nil, err
	}
	s, err := g.settle()
	return g, s, err
}

// ignoredNotice is one line about the variables that mean nothing here.
func (g *given) ignoredNotice() string {
	if len(g.ignored) == 0 {
		return ""
	}
	return fmt.Sprintf("ignored: %s", strings.Join(g.ignored, ", "))
}
