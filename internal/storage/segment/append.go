package segment

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// Append writes one batch at the log's end.
func (l *Log) Append(b record.Batch, now time.Time) (storage.Appended, error) {
	if l.store.files.crowded() && !l.isOpen() {
		l.store.relieve()
	}
	l.mu.Lock()
	grown := int64(0)
	a, err := l.append(b, now, &grown)
	l.mu.Unlock()
	if grown > 0 {
		l.waits.grew(grown)
	}
	if err == nil && l.cfg.Load().Flush == storage.FlushAlways && a.NextOffset > l.hw.Load() {
		l.commit.kick(l)
	}
	return a, err
}

// append needs mu. grown is what became visible, in bytes.
func (l *Log) append(b record.Batch, now time.Time, grown *int64) (storage.Appended, error) {
	if err := l.readyLocked(); err != nil {
		return storage.Appended{}, err
	}
	if l.stopping {
		return storage.Appended{}, errStopped
	}
	cfg := l.cfg.Load()
	dup, isDup, err := l.producers.judge(b)
	if err != nil {
		return storage.Appended{}, err
	}
	if isDup {
		return l.duplicate(b, dup, cfg), nil
	}
	if err := l.write(b, now, cfg); err != nil {
		return storage.Appended{}, err
	}
	l.took(b, now, cfg)
	if cfg.Flush != storage.FlushAlways {
		l.show(b.NextOffset(), l.segments())
		*grown = int64(len(b))
	}
	a := storage.Appended{BaseOffset: b.BaseOffset(), NextOffset: b.NextOffset(), AppendTime: -1, LogStart: l.start.Load()}
	if cfg.AppendTime {
		a.AppendTime = b.MaxTimestamp()
	}
	return a, nil
}

func (l *Log) duplicate(b record.Batch, dup sequenced, cfg *storage.Config) storage.Appended {
	a := storage.Appended{BaseOffset: dup.base, NextOffset: dup.next, AppendTime: -1, LogStart: l.start.Load(), Duplicate: true}
	if cfg.AppendTime {
		a.AppendTime = dup.ts
	}
	return a
}

// write puts the batch behind the last one, or leaves everything as it was.
func (l *Log) write(b record.Batch, now time.Time, cfg *storage.Config) error {
	if err := l.store.disk.take(int64(len(b)), now, cfg.Strict); err != nil {
		return l.refuse(err)
	}
	if cfg.AppendTime {
		b.StampAppendTime(now.UnixMilli())
	}
	seg, err := l.room(b, now, cfg)
	if err != nil {
		return l.refuse(err)
	}
	b.Stamp(l.end.Load(), l.store.epoch)
	file, err := seg.acquire()
	if err != nil {
		return l.refuse(err)
	}
	defer seg.release()
	n, err := file.WriteAt(b, seg.size.Load())
	if err == nil {
		return nil
	}
	if n > 0 {
		if cutting := file.Truncate(seg.size.Load()); cutting != nil {
			return l.breakDown("truncate", errors.Join(err, cutting))
		}
	}
	return l.refuse(err)
}

// refuse reports why an append was not done. A full disk is told once until
// an append succeeds again.
func (l *Log) refuse(err error) error {
	if f := l.failed.Load(); f != nil {
		return f.err
	}
	if !errors.Is(err, vfs.ErrFull) {
		return l.report("append", err)
	}
	l.store.metrics.errors.WithLabelValues("full").Inc()
	if !l.full {
		l.full = true
		l.warnFull(err)
	}
	return kafka.Hide(kafka.KafkaStorageError, err)
}

func (l *Log) warnFull(err error) {
	var e *noRoom
	if !errors.As(err, &e) {
		l.logger().Warn("writes are refused and reading goes on: the disk is full (make room on it)", zap.String("dir", l.store.o.Dir), zap.Error(err))
		return
	}
	l.logger().Warn("writes are refused and reading goes on: free space is down to log.disk.reserve (make room on the disk, or lower the reserve)",
		zap.String("dir", l.store.o.Dir), zap.Int64("free_bytes", e.free), zap.Int64("reserve_bytes", e.reserve), zap.Int64("write_bytes", e.need))
}

// took notes a batch that is written.
func (l *Log) took(b record.Batch, now time.Time, cfg *storage.Config) {
	seg := l.last()
	if seg.size.Load() == 0 {
		l.begun = b.MaxTimestamp()
	}
	seg.idxMu.Lock()
	l.active.add(b, seg.size.Load(), cfg.IndexIntervalBytes)
	seg.idxMu.Unlock()
	l.producers.take(b, now.UnixMilli())
	if l.epoch != l.store.epoch {
		l.epoch = l.store.epoch
		l.addEpoch(l.store.epoch, b.BaseOffset())
	}
	seg.maxTS.Store(l.active.max.ts)
	if cfg.Flush != storage.FlushOS {
		seg.pin(true)
	}
	l.full, l.grew, l.complain = false, true, ""
	seg.size.Add(int64(len(b)))
	seg.next.Store(b.NextOffset())
	l.end.Store(b.NextOffset())
	l.store.note(l)
}

// addEpoch needs mu.
func (l *Log) addEpoch(epoch int32, start int64) {
	e := l.epochs.Load().with(epoch, start)
	l.epochs.Store(&e)
	l.unsaved = true
}

// show moves what readers may take of the files, then the high watermark: who
// has seen the mark finds all below it. It needs mu.
func (l *Log) show(hw int64, list []*segment) {
	if hw <= l.hw.Load() {
		return
	}
	for i := len(list) - 1; i >= 0 && list[i].visible.Load() != list[i].size.Load(); i-- {
		list[i].show(list[i].size.Load(), list[i].next.Load())
	}
	l.hw.Store(hw)
}

// room gives the segment that the batch goes to, a new one if it must.
func (l *Log) room(b record.Batch, now time.Time, cfg *storage.Config) (*segment, error) {
	seg := l.last()
	if seg == nil {
		return l.begin(l.end.Load(), now)
	}
	if l.mustRoll(seg, b, now, cfg) {
		return l.roll(now)
	}
	return seg, l.makeFolder(l.state)
}

// mustRoll says whether the active segment is full, or so old that the batch
// must go to a new one. Its age is counted in the records' time, as Kafka does.
func (l *Log) mustRoll(seg *segment, b record.Batch, now time.Time, cfg *storage.Config) bool {
	size := seg.size.Load()
	if size == 0 {
		return false
	}
	limit := min(cfg.SegmentBytes, math.MaxInt32)
	if size+int64(len(b)) > limit || l.end.Load()+int64(b.LastOffsetDelta())-seg.base > math.MaxInt32 {
		return true
	}
	if cfg.SegmentAge <= 0 {
		return false
	}
	age := now.Sub(l.opened)
	if ts := b.MaxTimestamp(); l.begun >= 0 && ts >= 0 {
		return ts-l.begun > cfg.SegmentAge.Milliseconds()
	}
	return age > cfg.SegmentAge
}

// roll seals the active segment and begins the next one. It needs mu.
func (l *Log) roll(now time.Time) (*segment, error) {
	seg, idx := l.last(), l.active
	next, err := l.begin(l.end.Load(), now)
	if err != nil {
		return nil, err
	}
	l.pending = append(l.pending, sealed{seg, idx, l.snapshot()})
	l.producers.changed = false
	l.store.indexes.put(seg, idx)
	seg.seal()
	l.store.note(l)
	return next, nil
}

// owedSnapshots is how many bytes of snapshots may wait for a sync.
const owedSnapshots = 16 << 20

// snapshot is what goes with a segment that ends now; nil where many wait for a
// slow disk: without it a start reads more. It needs mu.
func (l *Log) snapshot() []byte {
	owed := 0
	for _, s := range l.pending {
		owed += len(s.snapshot)
	}
	if owed > owedSnapshots {
		return nil
	}
	return l.producers.encode()
}

// begin makes the file of a segment, and the folder when there is none. It
// needs mu.
func (l *Log) begin(base int64, now time.Time) (*segment, error) {
	if err := l.makeFolder(l.state); err != nil {
		return nil, err
	}
	seg := l.store.newSegment(l.dir(), base)
	if _, err := seg.acquire(); err != nil {
		return nil, fmt.Errorf("begin a segment: %w", err)
	}
	seg.release()
	seg.live = newIndex(base)
	l.active, l.begun, l.opened, l.names = seg.live, -1, now, true
	list := l.segments()
	l.setSegments(append(list[:len(list):len(list)], seg))
	return seg, nil
}
