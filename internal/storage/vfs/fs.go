package vfs

import (
	"io"
	"io/fs"
	"path"
)

// FS is what the logs need of a file system. All methods may be called
// together. Those that open something are ErrDescriptors where there is no
// descriptor for it.
type FS interface {
	// Open opens a file that exists, to read.
	Open(name string) (File, error)
	// OpenWrite opens a file to read and write, and makes it when missing.
	OpenWrite(name string) (File, error)
	// ReadDir lists the names in a folder, sorted.
	ReadDir(name string) ([]string, error)
	// Stat gives the size of a file in bytes.
	Stat(name string) (int64, error)
	// Rename moves a file or folder within one folder, over what is there.
	Rename(from, to string) error
	// Remove unlinks a file or an empty folder.
	Remove(name string) error
	// MkdirAll makes a folder and those above it; one that exists is fine.
	MkdirAll(name string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
	// Lock takes a lock file for this process, until it is closed or the
	// process ends. Taken by another: *LockedError.
	Lock(name string) (io.Closer, error)
	// Locked is *LockedError when a lock file is taken, and nil when it is
	// not or is missing. It changes nothing.
	Locked(name string) error
	// Free is how many bytes may still be written below the folder.
	Free(name string) (int64, error)
	// Total is how many bytes the disk below the folder can hold.
	Total(name string) (int64, error)
}

// File is an open file. All methods may be called together.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes the bytes and the size durable (fdatasync).
	Sync() error
}

// Sendable is a File that the kernel can send from. Its descriptor is good for
// as long as the file is open.
type Sendable interface {
	File
	Fd() uintptr
}

// ReadFile reads a whole file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errTooLarge}
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err == io.EOF {
		err = nil
	}
	return data[:n], err
}

// WriteFile replaces a file by way of a temporary one beside it, so that a
// reader sees the old bytes or the new. The new ones are durable on return,
// the name once its folder is synced.
func WriteFile(fsys FS, name string, data []byte) error {
	temp := name + ".tmp"
	if err := write(fsys, temp, data, true); err != nil {
		return err
	}
	return fsys.Rename(temp, name)
}

// WriteUnsynced is WriteFile without waiting for the disk: after a power cut
// the file may be anything.
func WriteUnsynced(fsys FS, name string, data []byte) error {
	temp := name + ".tmp"
	if err := write(fsys, temp, data, false); err != nil {
		return err
	}
	return fsys.Rename(temp, name)
}

func write(fsys FS, name string, data []byte, sync bool) error {
	f, err := fsys.OpenWrite(name)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil && len(data) > 0 {
		_, err = f.WriteAt(data, 0)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// Exists says whether there is a file of this name.
func Exists(fsys FS, name string) bool {
	_, err := fsys.Stat(name)
	return err == nil
}

func parent(name string) string { return path.Dir(path.Clean(name)) }
