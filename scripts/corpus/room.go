package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// room is a package that has fuzz targets.
type room struct {
	ImportPath   string
	Dir          string
	TestGoFiles  []string
	XTestGoFiles []string

	targets []string
	binary  string // its tests, made to tell what they reach
}

// rooms finds the packages with targets whose names match.
func rooms(only *regexp.Regexp) ([]*room, error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []*room
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		r := new(room)
		if err := dec.Decode(r); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		if err := r.find(only); err != nil {
			return nil, err
		}
		if len(r.targets) > 0 {
			found = append(found, r)
		}
	}
}

var target = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)

func (r *room) find(only *regexp.Regexp) error {
	for _, name := range append(r.TestGoFiles, r.XTestGoFiles...) {
		text, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil {
			return err
		}
		for _, m := range target.FindAllSubmatch(text, -1) {
			if only.Match(m[1]) {
				r.targets = append(r.targets, string(m[1]))
			}
		}
	}
	return nil
}

// build makes the binary, in a folder that is there.
func (r *room) build(dir string) error {
	r.binary = filepath.Join(dir, "room.test")
	out, err := exec.Command("go", "test", "-c", "-cover", "-covermode=set", "-coverpkg=./...", "-o", r.binary, r.ImportPath).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the tests of %s: %w\n%s", r.ImportPath, err, out)
	}
	return nil
}

// run runs the tests that match in a folder and tells what they reach.
func (r *room) run(dir, tests string) (blocks, error) {
	profile := r.binary + ".profile"
	cmd := exec.Command(r.binary, "-test.run", tests, "-test.timeout", "2m", "-test.coverprofile", profile)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(f)
}

// parse reads the blocks that ran from a profile, whose lines end with how often
// they did: "kaasd/internal/kafka/code.go:10.2,12.3 2 1".
func parse(profile io.Reader) (blocks, error) {
	reached := blocks{}
	lines := bufio.NewScanner(profile)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) == 3 && f[2] != "0" {
			reached[block(f[0])] = true
		}
	}
	return reached, lines.Err()
}
