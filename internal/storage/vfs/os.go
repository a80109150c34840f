package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// Modes of what is made: the owner's alone, as records may be secrets.
const (
	fileMode = 0o640
	dirMode  = 0o750
)

type osFS struct{}

// OS is the file system of the machine.
func OS() FS { return osFS{} }

func (osFS) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, scarce(err)
	}
	return osFile{f}, nil
}

func (osFS) OpenWrite(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, scarce(full(err))
	}
	return osFile{f}, nil
}

// scarce makes a lack of descriptors known as ErrDescriptors. It is for errors of
// opening: those of writing and syncing may have lost something.
func scarce(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) {
		return fmt.Errorf("%w: %w", ErrDescriptors, err)
	}
	return err
}

// Descriptors is how many descriptors this process may have open; 0: unknown.
func Descriptors() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur)
}

// full makes a lack of room known as ErrFull.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return errors.Join(ErrFull, err)
	}
	return err
}

func (osFS) ReadDir(name string) ([]string, error) {
	d, err := os.Open(name)
	if err != nil {
		return nil, scarce(err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (osFS) Stat(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }
func (osFS) Remove(name string) error     { return os.Remove(name) }
func (osFS) MkdirAll(name string) error   { return full(os.MkdirAll(name, dirMode)) }

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return scarce(err)
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) { // some network file systems can not
		err = nil
	}
	if closing := d.Close(); err == nil {
		err = closing
	}
	return err
}

// Lock keeps the process id of the holder in the file, for the error of the
// next one who comes.
func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Name: name, PID: holder(f)}
		}
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Locked asks for a shared lock and lets it go, which needs no more than to
// read the file.
func (osFS) Locked(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &LockedError{Name: name, PID: holder(f)}
	}
	if err != nil {
		return &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return nil
}

func holder(f *os.File) int {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	pid, _ := strconv.Atoi(string(bytes.TrimSpace(buf[:n])))
	return pid
}

func (osFS) Free(name string) (int64, error) {
	st, err := statfs(name)
	return int64(st.Bavail) * int64(st.Bsize), err
}

func (osFS) Total(name string) (int64, error) {
	st, err := statfs(name)
	return int64(st.Blocks) * int64(st.Bsize), err
}

func statfs(name string) (st syscall.Statfs_t, err error) {
	if err := syscall.Statfs(name, &st); err != nil {
		return st, &os.PathError{Op: "statfs", Path: name, Err: err}
	}
	return st, nil
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, full(err)
}
