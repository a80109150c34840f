package segment

import (
	"errors"
	"io/fs"
	"path"

	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// job is what one sync has to make durable, taken under the log's lock.
type job struct {
	end      int64
	last     *segment // the one that end is in
	size     int64    // of last, up to end
	active   *segment // last, if it has bytes to sync
	pending  []sealed
	epochs   []byte // nil: nothing new
	names    bool
	homeless bool
}

func (j job) empty() bool {
	return j.active == nil && len(j.pending) == 0 && j.epochs == nil && !j.names && !j.homeless
}

// sync makes the log durable as of now; without the active segment only what
// was sealed. A failure is final for the log (promise 7), but for want of room or
// descriptors: then nothing is lost.
func (l *Log) sync(active bool) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if f := l.failed.Load(); f != nil {
		return f.err
	}
	l.mu.Lock()
	j := l.takeJob(active)
	l.mu.Unlock()
	if j.empty() {
		return nil
	}
	l.store.syncs <- struct{}{}
	err := l.run(j)
	<-l.store.syncs
	if f := l.failed.Load(); f != nil { // deleted meanwhile: the files are gone
		return f.err
	}
	if transient(err) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.later(j, err)
	}
	if err != nil {
		return l.breakDown("sync", err)
	}
	l.mu.Lock()
	grown := l.finish(j)
	l.mu.Unlock()
	l.waits.grew(grown)
	return nil
}

// later gives back a job for which there is no room, or no descriptor. No byte of
// a batch is concerned: those were written, and a sync that fails tells another
// error. It needs mu.
func (l *Log) later(j job, err error) error {
	l.names, l.homeless, l.unsaved = l.names || j.names, l.homeless || j.homeless, l.unsaved || j.epochs != nil
	l.store.note(l)
	if errors.Is(err, vfs.ErrDescriptors) {
		return l.report("sync", err)
	}
	return l.refuse(err)
}

// takeJob needs mu.
func (l *Log) takeJob(active bool) job {
	if l.state == nil || len(l.segments()) == 0 {
		return job{}
	}
	j := job{end: l.end.Load(), last: l.last(), pending: l.pending, names: l.names, homeless: l.homeless}
	j.size = j.last.size.Load()
	if !active {
		if j.end, j.size = j.last.base, 0; len(j.pending) == 0 {
			return job{}
		}
	}
	if active && l.recovery < j.end {
		j.active = j.last
	}
	if l.unsaved {
		j.epochs = l.epochs.Load().encode()
	}
	l.names, l.homeless, l.unsaved = false, false, false
	return j
}

// run does the job, without the log's lock.
func (l *Log) run(j job) error {
	fsys, dir := l.store.o.FS, l.dir()
	if j.epochs != nil {
		if err := vfs.WriteFile(fsys, path.Join(dir, epochFile), j.epochs); err != nil {
			return err
		}
	}
	for _, s := range j.pending {
		if err := l.syncSealed(s); err != nil {
			return err
		}
	}
	if j.active != nil {
		if err := j.active.sync(); err != nil {
			return err
		}
	}
	if j.homeless {
		if err := errors.Join(syncFile(fsys, path.Join(dir, metadataFile)), fsys.SyncDir(l.store.o.Dir)); err != nil {
			return err
		}
	}
	if j.names || j.epochs != nil || len(j.pending) > 0 {
		return fsys.SyncDir(dir)
	}
	return nil
}

// syncSealed also writes what goes with a sealed segment. One that retention
// took meanwhile has nothing to keep.
func (l *Log) syncSealed(s sealed) error {
	err := s.seg.sync()
	if err == nil {
		err = l.saveIndex(s.seg, s.idx)
	}
	if err == nil && s.snapshot != nil {
		err = vfs.WriteFile(l.store.o.FS, path.Join(l.dir(), baseName(s.seg.next.Load())+snapshotSuffix), s.snapshot)
	}
	if errors.Is(err, errDead) {
		return nil
	}
	return err
}

func (l *Log) saveIndex(seg *segment, idx *index) error {
	offsets, times := idx.encode()
	if err := vfs.WriteFile(l.store.o.FS, seg.path+indexSuffix, offsets); err != nil {
		return err
	}
	return vfs.WriteFile(l.store.o.FS, seg.path+timeSuffix, times)
}

// sync makes the segment's bytes durable.
func (s *segment) sync() error {
	file, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	return file.Sync()
}

func syncFile(fsys vfs.FS, name string) error {
	f, err := fsys.OpenWrite(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// finish notes what is durable now, and gives the bytes that became visible.
// It needs mu.
func (l *Log) finish(j job) int64 {
	l.recovery = max(l.recovery, j.end)
	l.pending = append([]sealed(nil), l.pending[len(j.pending):]...)
	for _, s := range j.pending {
		s.seg.pin(false)
	}
	if len(j.pending) > 0 {
		l.store.outdated()
	}
	if j.active != nil && j.active.next.Load() == j.end {
		j.active.pin(false)
	}
	if l.cfg.Load().Flush != storage.FlushAlways || j.end <= l.hw.Load() {
		return 0
	}
	return l.publish(j)
}

// publish moves what readers may take, then the high watermark, to what the job
// covered. It needs mu.
func (l *Log) publish(j job) int64 {
	grown := int64(0)
	for _, s := range l.segments() {
		size, next := s.size.Load(), s.next.Load()
		if s == j.last {
			size, next = j.size, j.end
		}
		if before := s.visible.Load(); s.base <= j.last.base && size > before {
			s.show(size, next)
			grown += size - before
		}
	}
	l.hw.Store(j.end)
	return grown
}

// missing says whether err is about a file that is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
