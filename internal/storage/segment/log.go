package segment

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// Log is one partition's log. A log that was not used since the start is only
// this struct: its files are looked at on first use.
type Log struct {
	store *Store
	tp    kafka.TopicPartition
	cfg   atomic.Pointer[storage.Config]

	// The marks. They hold before the log is loaded when known is set.
	known          atomic.Bool
	serving        atomic.Bool // loaded, and the marks are set
	start, end, hw atomic.Int64
	segs           atomic.Pointer[[]*segment] // nil: not loaded; replaced, never changed
	epochs         atomic.Pointer[epochs]     // as segs
	handed         *handed                    // set before segs
	failed         atomic.Pointer[failure]    // why the log is out of service
	noted          atomic.Bool                // in Store.dirty

	waits  waits
	commit committer

	flushing sync.Mutex // held by the one who syncs; taken before mu
	mu       sync.Mutex
	id       kafka.TopicID
	mark     *mark  // what the checkpoint said; nil: nothing
	stopping bool   // nothing is appended any more
	complain string // the last thing that was told to the house's log
	*state
}

// The guard of the contract.
var _ storage.Log = (*Log)(nil)

// failure ends a log's service.
type failure struct{ err error }

// state is what a loaded log has. It belongs to Log.mu.
type state struct {
	producers *producers
	active    *index    // the last segment's live one
	begun     int64     // timestamp of the active segment's first batch, ms; -1
	opened    time.Time // when the active segment was made, or the log loaded
	recovery  int64     // everything below is synced
	epoch     int32     // of the last batch; -1
	full      bool      // told that the disk is
	pending   []sealed  // not synced yet
	folder    bool      // the folder exists
	names     bool      // names in it are not durable
	homeless  bool      // the folder's own name is not durable
	unsaved   bool      // epochs are not in their file
	grew      bool      // since it was opened, or what spares a walk was not found
}

// sealed is a segment that was rolled and whose files are still to be synced.
type sealed struct {
	seg      *segment
	idx      *index
	snapshot []byte // producers at its end; nil: none is written
}

// errDeleted is what everybody gets who still holds a log after Delete.
func (l *Log) errDeleted() error {
	return kafka.Errorf(kafka.UnknownTopicOrPartition, "partition %s was deleted", l.tp)
}

// ready says whether the log serves, and loads it when that was not done.
func (l *Log) ready() error {
	if f := l.failed.Load(); f != nil {
		return f.err
	}
	if l.serving.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readyLocked()
}

// readyLocked needs mu.
func (l *Log) readyLocked() error {
	if f := l.failed.Load(); f != nil {
		return f.err
	}
	if l.serving.Load() {
		return nil
	}
	if l.state == nil {
		if err := l.load(time.Now()); err != nil {
			return l.report("open", err)
		}
	}
	return l.settle()
}

// settle makes what was found visible: under FlushAlways not before it is
// synced (promise 3). It needs mu, and is the one place that keeps it over a
// sync: nobody is served yet.
func (l *Log) settle() error {
	if l.cfg.Load().Flush == storage.FlushAlways && l.recovery < l.end.Load() {
		j := l.takeJob(true)
		err := l.run(j)
		if transient(err) {
			return l.later(j, err)
		}
		if err != nil {
			return l.breakDown("sync", err)
		}
		l.finish(j)
	}
	l.hw.Store(l.end.Load())
	for _, s := range l.segments() {
		s.show(s.size.Load(), s.next.Load())
	}
	l.known.Store(true)
	l.serving.Store(true)
	return nil
}

// report makes err what a client may see, and tells the log of the house, once
// while it stays the same. It needs mu.
func (l *Log) report(what string, err error) error {
	l.store.metrics.errors.WithLabelValues(what).Inc()
	if errors.Is(err, vfs.ErrDescriptors) {
		l.store.tellShort(err)
		return kafka.Hide(kafka.KafkaStorageError, err)
	}
	if text := what + err.Error(); text != l.complain {
		l.complain = text
		l.logger().Error(what+" partition", zap.Error(err))
	}
	return kafka.Hide(kafka.KafkaStorageError, err)
}

func (l *Log) logger() *zap.Logger {
	return l.store.log.With(zap.String("topic", l.tp.Topic), zap.Int32("partition", l.tp.Partition))
}

// fail takes the log out of service; the first reason stays.
func (l *Log) fail(err error) {
	if l.failed.CompareAndSwap(nil, &failure{err}) {
		l.waits.wake()
	}
}

// breakDown is fail for a promise that can not be kept any more (promise 7).
func (l *Log) breakDown(what string, err error) error {
	hidden := kafka.Hide(kafka.KafkaStorageError, err)
	l.fail(hidden)
	l.store.breakDown(l.tp, err)
	l.store.metrics.errors.WithLabelValues(what).Inc()
	l.logger().Error("partition is out of service until the restart: "+what+" did not succeed", zap.Error(err))
	return hidden
}

// Configure changes what the log is run with, from the next call on.
func (l *Log) Configure(c storage.Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cfg.Store(&c)
	if c.Flush != storage.FlushAlways && l.serving.Load() {
		l.show(l.end.Load(), l.segments())
	}
}

// segments is the list as of now; empty when the log has no file.
func (l *Log) segments() []*segment {
	if list := l.segs.Load(); list != nil {
		return *list
	}
	return nil
}

// setSegments publishes a list. It needs mu.
func (l *Log) setSegments(list []*segment) { l.segs.Store(&list) }

// last is the active segment, or nil. It needs mu.
func (l *Log) last() *segment {
	if list := l.segments(); len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// Offsets are the marks as of now; of a log that can not be opened all are 0.
func (l *Log) Offsets() storage.Offsets {
	if !l.known.Load() {
		if err := l.ready(); err != nil {
			return storage.Offsets{Epoch: l.store.epoch}
		}
	}
	return l.offsets()
}

func (l *Log) offsets() storage.Offsets {
	o := storage.Offsets{Start: l.start.Load(), HighWatermark: l.hw.Load(), End: l.end.Load(), Epoch: l.store.epoch}
	o.LastStable = o.HighWatermark
	return o
}

// Size is the bytes of all segments.
func (l *Log) Size() int64 {
	if !l.serving.Load() {
		l.mu.Lock()
		m := l.mark
		l.mu.Unlock()
		if m != nil && l.known.Load() {
			return m.bytes
		}
		if l.ready() != nil {
			return 0
		}
	}
	return sizeOf(l.segments())
}

func sizeOf(list []*segment) int64 {
	total := int64(0)
	for _, s := range list {
		total += s.size.Load()
	}
	return total
}

// EpochEnd answers OffsetForLeaderEpoch; -1, -1 also for a log that can not
// be opened.
func (l *Log) EpochEnd(epoch int32) (int32, int64) {
	if l.ready() != nil {
		return -1, -1
	}
	return l.epochs.Load().endOf(epoch, l.end.Load())
}
