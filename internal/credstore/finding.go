package credstore

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is what a finding means for the file.
type Kind uint8

// The kinds of findings. Bad makes the whole file bad; the others are
// warnings.
const (
	Bad      Kind = iota // the file is not used
	Inert                // an entry cannot log in; its quotas count
	Readable             // a readable password
	Repeated             // the last of several entries wins
	Newer                // a version this kaasd does not know
	Unknown              // a field this kaasd does not know
)

// Finding is something wrong with a file, told without any secret.
type Finding struct {
	Kind  Kind
	Line  int    // counted from 1
	Index int    // in users; -1 where it belongs to no entry
	Name  string // of the entry, where it has one
	Field string // such as scram.salt; "" where it belongs to no field
	Text  string // what is wrong, to be read after the field
}

// String is the finding without its line, such as
//
//	users[1] "bob": scram.salt is not base64
func (f Finding) String() string {
	var b strings.Builder
	if f.Index >= 0 {
		fmt.Fprintf(&b, "users[%d]", f.Index)
		if f.Name != "" {
			fmt.Fprintf(&b, " %.256q", f.Name)
		}
		b.WriteString(": ")
	}
	if f.Field != "" {
		b.WriteString(f.Field + " ")
	}
	b.WriteString(f.Text)
	return b.String()
}

// Error is the finding with its line.
func (f Finding) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.String()) }

// In is the finding with file and line, for the command line:
//
//	credentials.json:14: users[1] "bob": scram.salt is not base64
func (f Finding) In(path string) string { return fmt.Sprintf("%s:%d: %s", path, f.Line, f.String()) }

// fileError is a Finding that makes a file bad, told with the file's name.
type fileError struct {
	path    string
	finding Finding
}

func (e *fileError) Error() string { return e.finding.In(e.path) }
func (e *fileError) Unwrap() error { return e.finding }

// inFile says of which file an error of Read or Parse speaks.
func inFile(path string, err error) error {
	var f Finding
	if errors.As(err, &f) {
		return &fileError{path, f}
	}
	return fmt.Errorf("credentials.file: %w", err)
}
