package segment

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// flushAtOnce is how many logs the flush pass and the stop work on at once.
const flushAtOnce = 8

// Run does the background work until ctx ends, then closes the folder.
func (s *Store) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { s.sweep(); return nil })
	g.Go(func() error { s.every(ctx, s.o.FlushInterval, nil, func(time.Time) { s.flush() }); return nil })
	g.Go(func() error { s.every(ctx, s.o.RetentionInterval, nil, s.retain); return nil })
	g.Go(func() error {
		s.every(ctx, s.o.CheckpointInterval, s.stale, func(time.Time) { s.tryCheckpoint() })
		return nil
	})
	<-ctx.Done()
	s.close()
	g.Wait()
	return s.stop()
}

// every calls do after each interval, and also when soon says so, but then not
// more than once a second.
func (s *Store) every(ctx context.Context, interval time.Duration, soon <-chan struct{}, do func(time.Time)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			do(now)
		case <-soon:
			rest := time.NewTimer(time.Second)
			select {
			case <-ctx.Done():
				rest.Stop()
				return
			case now := <-rest.C:
				do(now)
			}
		}
	}
}

// flush syncs the logs that grew: all of them but those under FlushOS, whose
// sealed segments alone are synced, which is what bounds their recovery.
func (s *Store) flush() {
	var g errgroup.Group
	g.SetLimit(flushAtOnce)
	for _, l := range s.grown() {
		g.Go(func() error {
			l.sync(l.cfg.Load().Flush != storage.FlushOS) // told where it happens
			return nil
		})
	}
	g.Wait()
	s.files.trim()
}

// retain looks for what is too old or too much.
func (s *Store) retain(now time.Time) {
	for _, l := range s.all() {
		if s.isClosing() {
			return
		}
		l.retain(now)
	}
	s.files.sweep()
}

func (s *Store) tryCheckpoint() {
	err := s.checkpoint()
	if errors.Is(err, vfs.ErrDescriptors) {
		s.tellShort(err)
		return
	}
	if err != nil {
		s.log.Warn("write the checkpoint: the next start has more to check", zap.Error(err))
	}
}

// close lets no new work begin.
func (s *Store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// stop syncs everything and says so in the folder. A log that can not be synced
// makes the next start check its folder.
func (s *Store) stop() error {
	var g errgroup.Group
	g.SetLimit(flushAtOnce)
	for _, l := range s.all() {
		g.Go(func() error { return l.shut() })
	}
	err := g.Wait()
	close(s.stopped)
	s.work.Wait()
	if err == nil {
		err = s.Healthy()
	}
	if err == nil {
		err = s.markClean()
	}
	if closing := s.lock.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("close data folder %s: %w", s.o.Dir, err)
	}
	return nil
}

// markClean writes the checkpoint and then, when that is durable, the marker.
func (s *Store) markClean() error {
	if err := s.checkpoint(); err != nil {
		return err
	}
	err := vfs.WriteFile(s.o.FS, path.Join(s.o.Dir, cleanFile), nil)
	return errors.Join(err, s.o.FS.SyncDir(s.o.Dir))
}

// shut ends the log's service and leaves its folder as the next start wants
// it.
func (l *Log) shut() error {
	l.mu.Lock()
	was := l.failed.Load()
	l.stopping = true
	l.mu.Unlock()
	if was != nil {
		return nil // told before
	}
	err := l.sync(true)
	if err == nil {
		err = l.save()
	}
	l.fail(errStopped)
	for _, seg := range l.segments() {
		seg.kill()
	}
	return err
}

// walkable is how much of an active segment the next opening may walk: less
// than that, and the files that would spare it cost more than they save.
const walkable = 1 << 20

// save writes what spares the next opening a long walk.
func (l *Log) save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	seg := l.last()
	if l.state == nil || seg == nil || !l.grew {
		return nil
	}
	if !l.id.IsZero() {
		if err := l.makeFolder(l.state); err != nil {
			return err
		}
	}
	if seg.size.Load() < walkable {
		return nil
	}
	if err := l.saveIndex(seg, l.active); err != nil {
		return err
	}
	snapshot := path.Join(l.dir(), baseName(l.end.Load())+snapshotSuffix)
	if err := vfs.WriteFile(l.store.o.FS, snapshot, l.producers.encode()); err != nil {
		return err
	}
	if err := l.removeStrays(); err != nil {
		return err
	}
	return l.store.o.FS.SyncDir(l.dir())
}

// removeStrays unlinks the snapshots of earlier stops: those that are neither
// at the beginning of a segment nor at the end. It needs mu.
func (l *Log) removeStrays() error {
	names, err := l.store.o.FS.ReadDir(l.dir())
	if err != nil {
		return err
	}
	keep := map[int64]bool{l.end.Load(): true}
	for _, seg := range l.segments() {
		keep[seg.base] = true
	}
	for _, name := range names {
		if offset, ok := parseBase(name, snapshotSuffix); ok && !keep[offset] {
			if err := l.store.o.FS.Remove(path.Join(l.dir(), name)); err != nil {
				return err
			}
		}
	}
	return nil
}
