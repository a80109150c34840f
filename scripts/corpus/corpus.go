package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// corpus is what there is of inputs for one target.
type corpus struct {
	room   *room
	target string
	cache  string // folder of Go's cache
	failed []error
}

// kept is the folder in which go test looks for inputs.
func (c *corpus) kept() string { return filepath.Join(c.room.Dir, "testdata", "fuzz", c.target) }

// grow chooses from the cache and writes what is chosen. It says how many inputs
// were tried and which were chosen.
func (c *corpus) grow(stage string) (tried int, chosen []input, err error) {
	known, err := c.room.run(c.room.Dir, "^"+c.target+"$")
	if err != nil {
		return 0, nil, fmt.Errorf("the seeds of %s in %s: %w", c.target, c.room.ImportPath, err)
	}
	inputs, err := c.measure(stage)
	if err != nil {
		return 0, nil, err
	}
	chosen = choose(inputs, known, most)
	for _, in := range chosen {
		if err := write(c.kept(), in.name, in.text); err != nil {
			return 0, nil, err
		}
	}
	return len(inputs), chosen, nil
}

// measure runs the inputs of the cache that are not kept, each alone, but for
// those that hold a private key.
func (c *corpus) measure(stage string) ([]input, error) {
	entries, err := os.ReadDir(c.cache)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := c.furnish(stage); err != nil {
		return nil, err
	}
	var all []input
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(c.kept(), e.Name())); err == nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.cache, e.Name()))
		if err != nil {
			return nil, err
		}
		if bytes.Contains(text, []byte("PRIVATE KEY")) {
			continue // made for a test, but who finds it cannot know
		}
		reached, err := c.try(e.Name(), text, stage)
		if err != nil {
			c.failed = append(c.failed, fmt.Errorf("%s of %s in %s: %w", filepath.Join(c.cache, e.Name()), c.target, c.room.ImportPath, err))
			continue
		}
		all = append(all, input{e.Name(), text, reached})
	}
	return all, nil
}

// furnish gives a folder the testdata of the room but for its inputs.
func (c *corpus) furnish(stage string) error {
	if err := os.MkdirAll(filepath.Join(stage, "testdata"), 0o700); err != nil {
		return err
	}
	there, err := filepath.Glob(filepath.Join(c.room.Dir, "testdata", "*"))
	if err != nil {
		return err
	}
	for _, path := range there {
		if name := filepath.Base(path); name != "fuzz" {
			if err := os.Symlink(path, filepath.Join(stage, "testdata", name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// try runs one input on the stage.
func (c *corpus) try(name string, text []byte, stage string) (blocks, error) {
	fuzz := filepath.Join(stage, "testdata", "fuzz")
	defer os.RemoveAll(fuzz)
	if err := write(filepath.Join(fuzz, c.target), name, text); err != nil {
		return nil, err
	}
	return c.room.run(stage, "^"+c.target+"$/^"+name+"$")
}

// write puts an input into a folder, which it makes.
func write(dir, name string, text []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), text, 0o644)
}
