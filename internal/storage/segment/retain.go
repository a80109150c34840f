package segment

import (
	"errors"
	"math"
	"path"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// DeleteRecords moves the log's start forward, durably.
func (l *Log) DeleteRecords(offset int64) (int64, error) {
	if err := l.ready(); err != nil {
		return -1, err
	}
	l.flushing.Lock()
	start, err := l.moveStart(offset)
	l.flushing.Unlock()
	if err != nil {
		return -1, err
	}
	l.waits.wake()
	l.drop(start)
	return start, nil
}

// moveStart needs flushing, which is what orders two of them.
func (l *Log) moveStart(offset int64) (int64, error) {
	hw := l.hw.Load()
	if offset == -1 {
		offset = hw
	}
	if offset < 0 || offset > hw {
		return -1, kafka.Errorf(kafka.OffsetOutOfRange, "offset %d is not between 0 and the high watermark %d", offset, hw)
	}
	if start := l.start.Load(); offset <= start {
		return start, nil
	}
	if f := l.failed.Load(); f != nil {
		return -1, f.err
	}
	fsys := l.store.o.FS
	err := vfs.WriteFile(fsys, path.Join(l.dir(), startFile), encodeStart(l.tp, offset))
	if err == nil {
		err = errors.Join(fsys.SyncDir(l.dir()), fsys.SyncDir(l.store.o.Dir))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return -1, l.refuse(err)
	}
	l.begins(offset)
	return offset, nil
}

// begins notes that the log starts at offset now. It needs mu.
func (l *Log) begins(offset int64) {
	if offset <= l.start.Load() {
		return
	}
	l.start.Store(offset)
	e := l.epochs.Load().from(offset)
	l.epochs.Store(&e)
	l.unsaved = true
}

// drop takes the sealed segments that lie below offset out of the log, and
// unlinks them when the name of the segment that goes on is durable: without
// it a power cut would let the offsets begin anew.
func (l *Log) drop(offset int64) {
	l.flushing.Lock() // so that no sync writes an index beside a file that went
	defer l.flushing.Unlock()
	l.mu.Lock()
	list, n := l.segments(), 0
	for n < len(list)-1 && list[n].next.Load() <= min(offset, l.hw.Load()) {
		n++
	}
	l.mu.Unlock()
	if n == 0 {
		return
	}
	err := l.store.o.FS.SyncDir(l.dir())
	if errors.Is(err, vfs.ErrDescriptors) { // the next pass finds the same segments
		l.store.metrics.errors.WithLabelValues("retain").Inc()
		l.store.tellShort(err)
		return
	}
	l.mu.Lock()
	l.setSegments(l.segments()[n:]) // only who holds flushing takes from its beginning
	l.begins(list[n].base)
	l.mu.Unlock()
	for _, seg := range list[:n] {
		seg.kill()
		l.store.indexes.drop(seg)
		if err == nil {
			err = seg.unlink()
		}
	}
	l.store.outdated()
	if err != nil && l.failed.Load() == nil {
		l.store.metrics.errors.WithLabelValues("retain").Inc()
		l.logger().Error("delete old segments", zap.Error(err))
	}
}

// retain does one pass of retention: by age, then by size. A log that was not
// used is looked at only if the checkpoint says that something is due.
func (l *Log) retain(now time.Time) {
	cfg := l.cfg.Load()
	if !l.due(now, cfg) || l.ready() != nil {
		return
	}
	l.mu.Lock()
	l.producers.expire(now, l.store.o.ProducerExpiry)
	l.mu.Unlock()
	l.rollExpired(now, cfg)
	list := l.segments()
	n, left := 0, sizeOf(list)
	for n < len(list)-1 {
		size := list[n].size.Load()
		tooMuch := cfg.RetentionBytes >= 0 && left-size >= cfg.RetentionBytes
		if list[n].next.Load() > l.start.Load() && !tooMuch && !l.expired(list[n], now, cfg) {
			break
		}
		left -= size
		n++
	}
	if n > 0 {
		l.drop(list[n].base)
	}
}

// due says whether the pass has anything to do on this log.
func (l *Log) due(now time.Time, cfg *storage.Config) bool {
	if l.serving.Load() {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.mark
	if m == nil || !l.known.Load() {
		return false
	}
	old := cfg.RetentionAge >= 0 && m.oldest >= 0 && m.oldest < now.Add(-cfg.RetentionAge).UnixMilli()
	return old && m.bytes > 0 || cfg.RetentionBytes >= 0 && m.bytes > cfg.RetentionBytes
}

// expired says whether the newest record of a segment is too old. Records
// without a time never are.
func (l *Log) expired(seg *segment, now time.Time, cfg *storage.Config) bool {
	if cfg.RetentionAge < 0 || seg.size.Load() == 0 {
		return false
	}
	newest, err := l.newest(seg)
	return err == nil && newest >= 0 && newest < now.Add(-cfg.RetentionAge).UnixMilli()
}

// newest is the largest timestamp of a segment, from its index when nobody has
// looked yet; -1 when there is none.
func (l *Log) newest(seg *segment) (int64, error) {
	if ts := seg.maxTS.Load(); ts != noTime {
		return ts, nil
	}
	if seg.size.Load() == 0 {
		return -1, nil
	}
	ts, err := l.ask(seg, func(x *index) int64 { return x.max.ts })
	if err != nil {
		return math.MaxInt64, err
	}
	return ts, nil
}

// rollExpired seals the active segment when all of it has expired.
func (l *Log) rollExpired(now time.Time, cfg *storage.Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seg := l.last()
	if seg == nil || l.failed.Load() != nil || l.hw.Load() < l.end.Load() || !l.expired(seg, now, cfg) {
		return
	}
	if _, err := l.roll(now); err != nil {
		l.report("retain", err)
	}
}
