package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"kaasd/internal/credstore"
)

func newCredentials(a *app) *cobra.Command {
	return group(a, "credentials", "check a credentials file", newCredentialsValidate(a), newCredentialsSchema(a))
}

// credentialsPath is the file a command is about: as named, or the one a
// broker with this machine's settings reads.
func (a *app) credentialsPath(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	_, s, err := a.load(nil)
	if err != nil {
		return "", err
	}
	if s.CredentialsFile == "" {
		return defaultCredentials, nil
	}
	return s.CredentialsFile, nil
}

func newCredentialsValidate(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE]",
		Short: "say everything that is wrong with a credentials file",
		Args:  atMostOne("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.credentialsPath(firstOf(args))
			if err != nil {
				return err
			}
			raw, err := credstore.Read(path)
			if errors.Is(err, fs.ErrNotExist) {
				return exitWith(exitInput, "%s: no such file (kaasd credentials validate FILE names another, kaasd user add makes one)", path)
			}
			if err != nil {
				return &exitError{code: exitInput, err: err}
			}
			return a.showFindings(path, credstore.Check(raw))
		},
	}
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// finding is one remark for JSON.
type finding struct {
	Severity string `json:"severity"`
	Line     int    `json:"line"`
	Text     string `json:"text"`
}

func (a *app) showFindings(path string, all []credstore.Finding) error {
	found := []finding{}
	bad := 0
	for _, f := range all {
		severity := "warning"
		if f.Kind == credstore.Bad {
			severity = "error"
			bad++
		}
		found = append(found, finding{severity, f.Line, f.String()})
	}
	if a.json() {
		if err := a.document(map[string]any{"file": path, "valid": bad == 0, "findings": found}); err != nil {
			return err
		}
	} else {
		a.printFindings(path, found, bad)
	}
	if bad > 0 {
		return silent(exitInput)
	}
	return nil
}

// printFindings puts the errors before the warnings.
func (a *app) printFindings(path string, found []finding, bad int) {
	for _, f := range found {
		if f.Severity == "error" {
			a.printf("%s:%d: %s\n", path, f.Line, f.Text)
		}
	}
	for _, f := range found {
		if f.Severity == "warning" {
			a.printf("warning: %s\n", f.Text)
		}
	}
	a.printf("%s, %s\n", count(bad, "error"), count(len(found)-bad, "warning"))
}

func newCredentialsSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "print the JSON Schema of credentials files",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			a.printf("%s", credstore.Schema)
			return nil
		},
	}
}
