package vfs

import (
	"errors"
	"strconv"
)

var errTooLarge = errors.New("the file is larger than it may be")

// ErrFull is a file system without room (ENOSPC).
var ErrFull = errors.New("no space left on device")

// ErrDescriptors is a file that was not opened for want of a descriptor, or of
// the kernel's memory for one (EMFILE, ENFILE, ENOMEM). Nothing was changed or
// lost: the same call succeeds later.
var ErrDescriptors = errors.New("no descriptor is free")

// LockedError says that another process holds a lock.
type LockedError struct {
	Name string
	PID  int // 0: unknown
}

// Error names the lock file and its holder.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return e.Name + " is locked by another process"
	}
	return e.Name + " is locked by process " + strconv.Itoa(e.PID)
}
