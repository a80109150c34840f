package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// stdout is where the answer goes. A write never fails for the one who writes: the
// command does its work to the end, and what could not be written is told then, once.
type stdout struct {
	to    io.Writer
	fault error // of the first write that failed

	what   string // what is written; "": the answer
	done   string // what is in force whether or not it could be told; "": nothing
	wayOut string // what to do about it
}

var _ io.Writer = (*stdout)(nil)

// Write writes until a write has failed.
func (s *stdout) Write(b []byte) (int, error) {
	if s.fault == nil {
		_, s.fault = s.to.Write(b)
	}
	return len(b), nil
}

// unwritten is what could not be written, or nil. A reader that has gone, such as
// head, has seen what it wanted: that is told only where something was done.
func (s *stdout) unwritten() error {
	switch {
	case s == nil || s.fault == nil:
		return nil
	case s.done != "":
		return exitWith(exitFailed, "%s, but %s could not be written to stdout: %w%s", s.done, orElse(s.what, "the answer"), pathCause(s.fault), s.wayOut)
	case errors.Is(s.fault, syscall.EPIPE):
		return silent(exitFailed)
	}
	return exitWith(exitFailed, "the answer could not be written to stdout: %w", pathCause(s.fault))
}

// done notes what is in force from here on, in case that it cannot be told.
func (a *app) done(format string, args ...any) { a.stdout.done = fmt.Sprintf(format, args...) }

// mustBeRead refuses to write where nobody reads, what cannot be had again. Go opens
// the null device in the place of a stdout that is closed, for reading too, which no
// ">/dev/null" does.
func (a *app) mustBeRead(what string) error {
	f, ok := a.stdout.to.(*os.File)
	if !ok {
		return nil
	}
	mode, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil && mode&unix.O_ACCMODE == unix.O_RDWR && isNull(f) {
		return exitWith(exitFailed, "stdout is closed: nobody would read %s (nothing is done)", what)
	}
	return nil
}

func isNull(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(mine, null)
}
