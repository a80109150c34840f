package watch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Read reads a file that may change meanwhile. One with more than limit bytes is an
// error, and so is what would be waited for: a pipe, a device, a file of the kernel
// that has nothing to tell yet. An error begins with the path.
func Read(path string, limit int64) ([]byte, error) {
	data, err := read(path, limit)
	var told *fs.PathError
	if errors.As(err, &told) {
		err = told.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, withReader(err, os.Geteuid()))
	}
	return data, nil
}

// withReader says who it was that may not read: a file that somebody else has made,
// as root for the user of a container, looks right to who made it.
func withReader(err error, uid int) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (it must be readable for user id %d)", err, uid)
	}
	return err
}

// read opens the file before it looks what it is: another could be in its place by
// then. Without O_NONBLOCK a pipe would be waited for until somebody writes.
func read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return readAll(f, limit)
}

func readAll(f *os.File, limit int64) ([]byte, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(prompt{raw}, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("more than %d bytes", limit)
	}
	return data, nil
}

var errNothingYet = errors.New("nothing is there to read yet, and it is not waited for (a regular file is needed)")

// prompt reads a file without waiting. An os.File waits for as long as there is
// nothing in what can be polled, and /proc/kmsg can, which says to be regular.
type prompt struct{ raw syscall.RawConn }

func (p prompt) Read(b []byte) (n int, err error) {
	told := p.raw.Read(func(fd uintptr) bool {
		for err = syscall.EINTR; err == syscall.EINTR; {
			n, err = syscall.Read(int(fd), b)
		}
		return true
	})
	switch {
	case told != nil:
		return 0, told
	case err == syscall.EAGAIN:
		return 0, errNothingYet
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
