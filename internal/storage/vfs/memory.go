package vfs

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
)

// memory is a tree of nodes. Crash sits on the same tree and keeps beside each
// node what a power cut leaves of it.
type memory struct {
	mu    sync.RWMutex
	root  *node
	track bool // keep what is durable, for Crash
}

// node is a folder (names not nil) or a file.
type node struct {
	names map[string]*node
	data  []byte

	durable      []byte           // of a file: as of the last sync
	durableNames map[string]*node // of a folder: as of the last sync
	locked       bool
}

// Memory is a file system that holds everything in memory.
func Memory() FS { return newMemory() }

func newMemory() *memory {
	return &memory{root: &node{names: map[string]*node{}}}
}

func fail(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

func parts(name string) []string {
	name = strings.Trim(path.Clean(name), "/")
	if name == "." || name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

// find walks to a node; nil when there is none. Callers hold mu.
func (m *memory) find(name string) *node {
	at := m.root
	for _, part := range parts(name) {
		if at = at.names[part]; at == nil {
			return nil
		}
	}
	return at
}

// folder gives the folder that holds a name. Callers hold mu.
func (m *memory) folder(op, name string) (*node, string, error) {
	dir := m.find(parent(name))
	if dir == nil || dir.names == nil {
		return nil, "", fail(op, name, fs.ErrNotExist)
	}
	return dir, path.Base(name), nil
}

// The guards of every filler.
var (
	_ FS = (*memory)(nil)
	_ FS = osFS{}
	_ FS = (*Crash)(nil)
)

func (m *memory) Open(name string) (File, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := m.find(name)
	if n == nil {
		return nil, fail("open", name, fs.ErrNotExist)
	}
	if n.names != nil {
		return nil, fail("open", name, errors.New("is a folder"))
	}
	return &memoryFile{fs: m, node: n}, nil
}

func (m *memory) OpenWrite(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.folder("open", name)
	if err != nil {
		return nil, err
	}
	n := dir.names[base]
	if n == nil {
		n = &node{}
		dir.names[base] = n
	}
	if n.names != nil {
		return nil, fail("open", name, errors.New("is a folder"))
	}
	return &memoryFile{fs: m, node: n}, nil
}

func (m *memory) ReadDir(name string) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := m.find(name)
	if n == nil {
		return nil, fail("readdir", name, fs.ErrNotExist)
	}
	if n.names == nil {
		return nil, fail("readdir", name, errors.New("not a folder"))
	}
	return slices.Sorted(maps.Keys(n.names)), nil
}

func (m *memory) Stat(name string) (int64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := m.find(name)
	if n == nil {
		return 0, fail("stat", name, fs.ErrNotExist)
	}
	return int64(len(n.data)), nil
}

func (m *memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	src, a, err := m.folder("rename", from)
	if err != nil {
		return err
	}
	dst, b, err := m.folder("rename", to)
	if err != nil {
		return err
	}
	n := src.names[a]
	if n == nil {
		return fail("rename", from, fs.ErrNotExist)
	}
	if old := dst.names[b]; old != nil && len(old.names) > 0 {
		return fail("rename", to, errors.New("folder is not empty"))
	}
	delete(src.names, a)
	dst.names[b] = n
	return nil
}

func (m *memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.folder("remove", name)
	if err != nil {
		return err
	}
	n := dir.names[base]
	if n == nil {
		return fail("remove", name, fs.ErrNotExist)
	}
	if len(n.names) > 0 {
		return fail("remove", name, errors.New("folder is not empty"))
	}
	delete(dir.names, base)
	return nil
}

func (m *memory) MkdirAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.root
	for _, part := range parts(name) {
		next := at.names[part]
		if next == nil {
			next = &node{names: map[string]*node{}}
			at.names[part] = next
		}
		if next.names == nil {
			return fail("mkdir", name, errors.New("not a folder"))
		}
		at = next
	}
	return nil
}

func (m *memory) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.find(name)
	if n == nil || n.names == nil {
		return fail("sync", name, fs.ErrNotExist)
	}
	if m.track {
		n.durableNames = maps.Clone(n.names)
	}
	return nil
}

func (m *memory) Lock(name string) (io.Closer, error) {
	if _, err := m.OpenWrite(name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.find(name)
	if n.locked {
		return nil, &LockedError{Name: name}
	}
	n.locked = true
	return &memoryLock{m, n}, nil
}

func (m *memory) Locked(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.find(name); n != nil && n.locked {
		return &LockedError{Name: name}
	}
	return nil
}

// Free has no end: the machine's memory is the limit.
func (m *memory) Free(string) (int64, error) { return math.MaxInt64, nil }

func (m *memory) Total(string) (int64, error) { return math.MaxInt64, nil }

type memoryLock struct {
	fs   *memory
	node *node
}

func (l *memoryLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	l.node.locked = false
	return nil
}
