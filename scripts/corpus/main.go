package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// most is how many inputs of a target one run keeps at most.
const most = 25

func main() {
	if err := keep(os.Stdout, append(os.Args[1:], ".")[0]); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// keep lets the corpus of all targets that match grow, and tells of each how many
// inputs of the cache were tried, how many of them it kept, and how large those
// are.
func keep(out io.Writer, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	found, err := rooms(match)
	if err != nil {
		return err
	}
	var failed []error
	fmt.Fprintf(out, format, "package", "target", "tried", "kept", "bytes")
	for _, r := range found {
		faults, err := r.grow(out, filepath.Join(strings.TrimSpace(string(cache)), "fuzz"))
		if err != nil {
			return err
		}
		failed = append(failed, faults...)
	}
	return errors.Join(failed...)
}

const format = "%-32s %-24s %8v %8v %8v\n"

// grow lets the corpus of each target of the room grow.
func (r *room) grow(out io.Writer, cache string) (failed []error, err error) {
	dir, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := r.build(dir); err != nil {
		return nil, err
	}
	for _, target := range r.targets {
		c := corpus{room: r, target: target, cache: filepath.Join(cache, r.ImportPath, target)}
		tried, chosen, err := c.grow(filepath.Join(dir, target))
		if err != nil {
			return nil, err
		}
		bytes := 0
		for _, in := range chosen {
			bytes += len(in.text)
		}
		fmt.Fprintf(out, format, r.ImportPath, target, tried, len(chosen), bytes)
		failed = append(failed, c.failed...)
	}
	return failed, nil
}
