package segment

import (
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

const (
	shortTold  = 10 * time.Second       // between two lines about a lack of descriptors
	shortPause = 100 * time.Millisecond // before a sync is tried again for want of one
	shortTries = 50                     // of a sync somebody waits for, before that is answered
)

// transient says that an error has lost nothing: there was no room, or no
// descriptor. What was to be done is done later.
func transient(err error) bool {
	return errors.Is(err, vfs.ErrFull) || errors.Is(err, vfs.ErrDescriptors)
}

// shortage is when a lack of descriptors was told last, in ns of Unix time.
type shortage struct{ told atomic.Int64 }

// due says whether it is time to tell again, to one of those who ask together.
func (s *shortage) due(now time.Time) bool {
	at := s.told.Load()
	return (at == 0 || now.UnixNano()-at >= int64(shortTold)) && s.told.CompareAndSwap(at, now.UnixNano())
}

// tellShort tells of a lack of descriptors, once in a while: it concerns all logs
// alike.
func (s *Store) tellShort(err error) {
	if s.short.due(time.Now()) {
		s.log.Warn("files cannot be opened: what needs one is refused or put off until descriptors are free (raise the limit: LimitNOFILE, ulimit -n)",
			zap.Uint64("descriptors", vfs.Descriptors()), zap.Error(err))
	}
}

// relieve syncs a log that grew and closes its file: until it is synced it may not
// be closed. Whoever spreads writes over very many logs waits for that, rather than
// all others for descriptors. No log's lock is held.
func (s *Store) relieve() {
	s.relief <- struct{}{}
	defer func() { <-s.relief }()
	l := s.dirtyOne()
	if l == nil || l.sync(l.cfg.Load().Flush != storage.FlushOS) != nil { // told where it happens
		return
	}
	if list := l.segments(); len(list) > 0 {
		s.files.shed(list[len(list)-1])
	}
}

// isOpen says whether the active segment's file is.
func (l *Log) isOpen() bool {
	list := l.segments()
	return len(list) > 0 && list[len(list)-1].isOpen()
}

// isOpen says whether the segment's file is.
func (s *segment) isOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file != nil
}

// thrifty is the file system below, but where there is no descriptor for a file it
// closes one of a segment that nobody uses, and tries again.
type thrifty struct {
	vfs.FS
	files *files
}

// again calls open until it has a descriptor. Others may be quicker to take one
// that was set free, so there are a few tries.
func (t thrifty) again(open func() error) error {
	err := open()
	for tries := 4; tries > 0 && errors.Is(err, vfs.ErrDescriptors) && t.files.spare(); tries-- {
		err = open()
	}
	return err
}

// Open opens a file to read.
func (t thrifty) Open(name string) (f vfs.File, err error) {
	err = t.again(func() (err error) { f, err = t.FS.Open(name); return err })
	return f, err
}

// OpenWrite opens a file to read and write.
func (t thrifty) OpenWrite(name string) (f vfs.File, err error) {
	err = t.again(func() (err error) { f, err = t.FS.OpenWrite(name); return err })
	return f, err
}

// ReadDir lists a folder.
func (t thrifty) ReadDir(name string) (names []string, err error) {
	err = t.again(func() (err error) { names, err = t.FS.ReadDir(name); return err })
	return names, err
}

// SyncDir makes the names in a folder durable.
func (t thrifty) SyncDir(name string) error {
	return t.again(func() error { return t.FS.SyncDir(name) })
}
