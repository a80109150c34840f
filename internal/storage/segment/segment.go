package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"kaasd/internal/storage/vfs"
)

// The files of a segment, after its base offset.
const (
	logSuffix      = ".log"
	indexSuffix    = ".index"
	timeSuffix     = ".timeindex"
	snapshotSuffix = ".snapshot"
	cutSuffix      = ".cut"
)

// noTime stands for a largest timestamp that nobody has looked up yet.
const noTime = math.MinInt64

// errDead says that the segment went while somebody was about to read it.
var errDead = errors.New("the segment was deleted")

// segment is one file of batches. The last one of a log is the active one,
// which appends go to; the others are sealed and do not change.
type segment struct {
	base  int64
	path  string // of its files, without the suffix
	files *files

	size    atomic.Int64 // bytes of whole batches
	visible atomic.Int64 // bytes that consumers may see; with before, see show
	before  atomic.Int64 // the offset that visible ends before; -1 while both change
	next    atomic.Int64 // offset behind the last batch
	maxTS   atomic.Int64 // largest timestamp, or noTime

	idxMu sync.RWMutex
	live  *index // of the active segment; those of sealed ones are cached

	used atomic.Bool // since the last look of files
	slot int         // in files, under its lock; -1: no file

	mu     sync.Mutex
	file   vfs.File // nil: closed meanwhile
	refs   int      // who uses file
	pinned bool     // holds bytes that must be synced through this very file
	dead   bool     // deleted: the last reader closes the file
}

func (s *Store) newSegment(dir string, base int64) *segment {
	seg := &segment{base: base, path: path.Join(dir, baseName(base)), files: s.files, slot: -1}
	seg.next.Store(base)
	seg.before.Store(base)
	seg.maxTS.Store(noTime)
	return seg
}

// baseName is Kafka's: the offset in 20 digits.
func baseName(offset int64) string { return fmt.Sprintf("%020d", offset) }

// parseBase reads the offset of a file name with that suffix.
func parseBase(name, suffix string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	offset, err := strconv.ParseInt(digits, 10, 64)
	return offset, err == nil && offset >= 0
}

// acquire gives the open file; release must follow.
func (s *segment) acquire() (vfs.File, error) {
	s.mu.Lock()
	if s.dead {
		s.mu.Unlock()
		return nil, errDead
	}
	if s.file != nil {
		s.refs++
		file := s.file
		s.mu.Unlock()
		s.used.Store(true)
		return file, nil
	}
	file, err := s.open()
	if err == nil {
		s.file = file
		s.refs++
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	s.used.Store(true)
	s.files.opened(s)
	return file, nil
}

// open opens the file to write, as an active segment must be; it makes none
// where one was, and notices when someone else has cut it.
func (s *segment) open() (vfs.File, error) {
	name := s.path + logSuffix
	size, err := s.files.fs.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.size.Load() == 0:
	case err != nil:
		return nil, err
	case size < s.size.Load():
		return nil, fmt.Errorf("%s has %d bytes, %d were written: it was cut from outside", name, size, s.size.Load())
	}
	return s.files.fs.OpenWrite(name)
}

// show lets consumers see the first size bytes, which end before an offset. One
// at a time may call it.
func (s *segment) show(size, before int64) {
	s.before.Store(-1)
	s.visible.Store(size)
	s.before.Store(before)
}

// shown gives what show last said. The offset only grows, so that finding it the
// same on both sides of the size says that the size belongs to it.
func (s *segment) shown() (size, before int64) {
	for {
		before = s.before.Load()
		size = s.visible.Load()
		if before >= 0 && before == s.before.Load() {
			return size, before
		}
		runtime.Gosched()
	}
}

// seal says that nothing is appended any more: the index is in the cache.
func (s *segment) seal() {
	s.idxMu.Lock()
	defer s.idxMu.Unlock()
	s.live = nil
}

func (s *segment) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refs--
	if s.dead && s.refs == 0 {
		s.shut()
	}
}

// pin keeps the file open until it is synced: an error of the kernel while
// writing back is told only to files that were open then.
func (s *segment) pin(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned = on
}

// closeIdle closes the file unless it is in use, and says whether it is
// closed. It never waits.
func (s *segment) closeIdle() bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	if s.refs > 0 || s.pinned {
		return s.file == nil
	}
	s.shut()
	return true
}

// kill takes the segment out of service; readers that hold it go on.
func (s *segment) kill() {
	s.mu.Lock()
	s.dead = true
	if s.refs == 0 {
		s.shut()
	}
	s.mu.Unlock()
	s.files.closed(s)
}

// shut needs mu.
func (s *segment) shut() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// unlink removes the files, the log last: without it the others are orphans
// that nobody would look for.
func (s *segment) unlink() error {
	for _, suffix := range []string{indexSuffix, timeSuffix, snapshotSuffix, logSuffix} {
		err := s.files.fs.Remove(s.path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
