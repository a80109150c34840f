package main

import (
	"errors"
	"fmt"
	"strings"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // failed while running; not ready; off its numbers
	exitUsage       = 2 // wrong flag, argument or variable, or a missing --yes
	exitInput       = 3 // an input file is wrong
	exitUnreachable = 4 // no answer from the broker or the HTTP page in time
	exitRefused     = 5 // the broker said no
)

// exitError is an error that knows the exit code of the process.
type exitError struct {
	code int
	err  error // nil: everything has been said already
}

// Error is the text of the cause.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap is the cause.
func (e *exitError) Unwrap() error { return e.err }

func exitWith(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

func usagef(format string, args ...any) error { return exitWith(exitUsage, format, args...) }

// silent ends the process with a code and without another word.
func silent(code int) error { return &exitError{code: code} }

// report writes err, and what could not be written, as lines that begin with
// "kaasd: " and gives the exit code.
func (a *app) report(err error) int {
	err = errors.Join(err, a.stdout.unwritten())
	if err == nil {
		return exitOK
	}
	for _, line := range errorLines(err) {
		fmt.Fprintf(a.err, "kaasd: %s\n", printable(line))
	}
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitFailed
}

// errorLines is one line for each error that was joined.
func errorLines(err error) []string {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, errorLines(e)...)
		}
		return lines
	}
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return nil
	}
	return []string{shortened(strings.Join(strings.Fields(text), " "))}
}

// widestError is above the length of any error in our own words, in characters. What
// is longer holds a value, which may be a megabyte: of it the ends are told, since the
// front says where it stands, and the back what is wrong with it.
const (
	widestError = 400
	frontError  = 200
	backError   = 150
)

// shortened cuts the middle out of an error that is too long.
func shortened(text string) string {
	if len(text) <= widestError {
		return text
	}
	runes := []rune(text)
	if len(runes) <= widestError {
		return text
	}
	out := len(runes) - frontError - backError
	return fmt.Sprintf("%s...[%d characters left out]...%s", string(runes[:frontError]), out, string(runes[frontError+out:]))
}

// maxLines is how many errors of one kind are told line by line.
const maxLines = 20

// joinedLines is an error of one line for each text, the last one counting
// those that are too many to tell.
func joinedLines(code int, texts []string, format string) error {
	var lines []error
	for i, text := range texts {
		if i == maxLines {
			lines = append(lines, exitWith(code, "and %d more", len(texts)-i))
			break
		}
		lines = append(lines, exitWith(code, format, text))
	}
	return errors.Join(lines...)
}
