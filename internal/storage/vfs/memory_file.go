package vfs

import (
	"io"
	"slices"
)

type memoryFile struct {
	fs   *memory
	node *node
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.node.resize(max(int64(len(f.node.data)), off+int64(len(p))))
	return copy(f.node.data[off:], p), nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.node.resize(size)
	return nil
}

func (f *memoryFile) Size() (int64, error) {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	return int64(len(f.node.data)), nil
}

func (f *memoryFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.track {
		f.node.durable = slices.Clone(f.node.data)
	}
	return nil
}

func (f *memoryFile) Close() error { return nil }

// resize cuts the file or fills it up with zeros.
func (n *node) resize(size int64) {
	old := int64(len(n.data))
	if size <= old {
		clear(n.data[size:])
		n.data = n.data[:size]
		return
	}
	n.data = slices.Grow(n.data, int(size-old))[:size]
	clear(n.data[old:])
}
