package vfs

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
)

// ErrCut is every call's answer once a Crash was cut.
var ErrCut = errors.New("the file system was cut off")

// Crash is a file system in memory that can be cut off at any changing call,
// and that knows what a crash of the process or of the machine would have
// left. It also tells the calls it got, one a line.
type Crash struct {
	mem *memory
	dir string // names in the trace are told relative to it

	mu    sync.Mutex
	calls []string
	at    int // cut at this call, counted from 1; 0: never
	keep  int // bytes of a write that still get through
	cut   bool
	fault func(call string) error
	free  int64
}

// NewCrash makes an empty one with an existing folder dir.
func NewCrash(dir string) *Crash {
	mem := newMemory()
	mem.track = true
	c := &Crash{mem: mem, dir: strings.Trim(path.Clean(dir), "/"), free: 1 << 40}
	mem.MkdirAll(dir)
	mem.root.settle()
	return c
}

// CutAt makes the call of this number (from 1) the last one, and the first
// that fails; of a write the first keep bytes get through.
func (c *Crash) CutAt(call, keep int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.keep = call, keep
}

// Fail asks fault before every changing call; its error becomes the call's,
// and nothing is changed. The call is told as in Calls.
func (c *Crash) Fail(fault func(call string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// SetFree says how much room is left.
func (c *Crash) SetFree(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = bytes
}

// Calls are the changing calls so far.
func (c *Crash) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.calls...)
}

// change notes a call and says how it goes: whole, cut after some bytes, or
// not at all.
func (c *Crash) change(format string, args ...any) (keep int, err error) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = c.relative(s)
		}
	}
	call := fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return 0, ErrCut
	}
	if c.fault != nil {
		if err := c.fault(call); err != nil {
			return 0, err
		}
	}
	c.calls = append(c.calls, call)
	if c.at == len(c.calls) {
		c.cut = true
		return c.keep, ErrCut
	}
	return 0, nil
}

func (c *Crash) alive() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return ErrCut
	}
	return nil
}

func (c *Crash) relative(name string) string {
	name = strings.Trim(path.Clean(name), "/")
	if name == c.dir {
		return "."
	}
	return strings.TrimPrefix(name, c.dir+"/")
}

// Open opens a file to read.
func (c *Crash) Open(name string) (File, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	f, err := c.mem.Open(name)
	if err != nil {
		return nil, err
	}
	return &crashFile{c: c, name: name, File: f}, nil
}

// OpenWrite opens a file, and makes it.
func (c *Crash) OpenWrite(name string) (File, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	if !Exists(c.mem, name) {
		if _, err := c.change("create %s", name); err != nil {
			return nil, err
		}
	}
	f, err := c.mem.OpenWrite(name)
	if err != nil {
		return nil, err
	}
	return &crashFile{c: c, name: name, File: f}, nil
}

// ReadDir lists a folder.
func (c *Crash) ReadDir(name string) ([]string, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	return c.mem.ReadDir(name)
}

// Stat gives a file's size.
func (c *Crash) Stat(name string) (int64, error) {
	if err := c.alive(); err != nil {
		return 0, err
	}
	return c.mem.Stat(name)
}

// Rename moves a file or folder.
func (c *Crash) Rename(from, to string) error {
	if _, err := c.change("rename %s %s", from, to); err != nil {
		return err
	}
	return c.mem.Rename(from, to)
}

// Remove unlinks.
func (c *Crash) Remove(name string) error {
	if _, err := c.change("remove %s", name); err != nil {
		return err
	}
	return c.mem.Remove(name)
}

// MkdirAll makes a folder.
func (c *Crash) MkdirAll(name string) error {
	if Exists(c.mem, name) {
		return c.alive()
	}
	if _, err := c.change("mkdir %s", name); err != nil {
		return err
	}
	return c.mem.MkdirAll(name)
}

// SyncDir makes names durable.
func (c *Crash) SyncDir(name string) error {
	if _, err := c.change("syncdir %s", name); err != nil {
		return err
	}
	return c.mem.SyncDir(name)
}

// Lock is not a changing call: a lock leaves nothing behind.
func (c *Crash) Lock(name string) (io.Closer, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	return c.mem.Lock(name)
}

// Locked is not a changing call either.
func (c *Crash) Locked(name string) error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.mem.Locked(name)
}

// Free is what SetFree said.
func (c *Crash) Free(string) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.free, nil
}

// Total is the same: what is free.
func (c *Crash) Total(name string) (int64, error) { return c.Free(name) }

type crashFile struct {
	c    *Crash
	name string
	File
}

func (f *crashFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.c.alive(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *crashFile) WriteAt(p []byte, off int64) (int, error) {
	keep, err := f.c.change("write %s %d+%d", f.name, off, len(p))
	if err != nil {
		keep = min(keep, len(p))
		if keep > 0 {
			f.File.WriteAt(p[:keep], off)
		}
		return keep, err
	}
	return f.File.WriteAt(p, off)
}

func (f *crashFile) Truncate(size int64) error {
	if _, err := f.c.change("truncate %s %d", f.name, size); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *crashFile) Sync() error {
	if _, err := f.c.change("sync %s", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}
