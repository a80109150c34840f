package vfs

import (
	"os"
	"syscall"
)

// Sync is fdatasync: the size is kept, the time of the last change is not,
// which spares a journal commit when the file did not grow.
func (f osFile) Sync() error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if err != syscall.EINTR {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}
