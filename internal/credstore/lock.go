package credstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// An edit holds its folder for milliseconds, with a slow disk for some more.
const (
	lockWait  = 5 * time.Second
	lockRetry = 10 * time.Millisecond
)

// lockFolder keeps other edits out of a folder until release. It is the folder
// that is locked because the file gives way to another one, and because that
// leaves nothing behind. Where there is no folder, or its file system knows no
// locks, nothing is held: the one is told by who writes there, and for the other
// there is the comparison before the file is replaced.
func lockFolder(dir string) (release func(), err error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := waitForLock(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// waitForLock tries until nobody else holds the folder, but not for ever: whoever
// may read a folder may hold it.
func waitForLock(f *os.File) error {
	end := time.After(lockWait)
	again := time.NewTicker(lockRetry)
	defer again.Stop()
	for isHeld(f) {
		select {
		case <-again.C:
		case <-end:
			return fmt.Errorf("the folder %s is locked by another process for %v, nothing is written (lslocks shows by which one; try again)", f.Name(), lockWait)
		}
	}
	return nil
}

// isHeld tries to take the lock, and says whether somebody else has it. It is let
// go when the file is closed, or the process ends.
func isHeld(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err == syscall.EWOULDBLOCK
		}
	}
}
