package segment

import (
	"errors"
	"fmt"
	"io"
	"time"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

// recovery is the opening of one log: what its folder holds, what of it must
// be checked, and the state that comes out.
type recovery struct {
	l     *Log
	fs    vfs.FS
	dir   string
	now   time.Time
	bases []int64 // of the .log files, rising
	snaps []int64 // offsets of the snapshots, rising

	trusted bool  // the checkpoint's word holds for all of it
	from    int64 // batches from here on are checked with their checksum
	replay  int64 // batches from here on are taken into the producer state
	list    []*segment
	epochs  epochs
	end     int64 // behind the last good batch so far
	st      *state
}

// recoverAtStart opens a log after a stop that was not clean, unless the
// checkpoint's word holds: then it waits for its first use. A log that can
// not be opened is told and tried again when it is used.
func (l *Log) recoverAtStart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.identify()
	r := l.newRecovery(time.Now())
	err := r.inventory()
	if err == nil && l.mark.matches(r) {
		l.trust(l.mark)
		return
	}
	if err == nil {
		err = l.loadFrom(r)
	}
	if err != nil {
		l.report("open", err)
	}
}

// identify believes the folder about its topic rather than the checkpoint, which
// may be about an earlier life. It needs mu.
func (l *Log) identify() {
	id, err := readMetadata(l.store.o.FS, l.dir())
	if err == nil && !id.IsZero() && id != l.id {
		l.id, l.mark = id, nil
	}
}

func (l *Log) newRecovery(now time.Time) *recovery {
	return &recovery{
		l: l, fs: l.store.o.FS, dir: l.dir(), now: now,
		st: &state{producers: l.newProducers(), begun: -1, opened: now, epoch: -1},
	}
}

// load opens the log. It needs mu.
func (l *Log) load(now time.Time) error {
	r := l.newRecovery(now)
	if err := r.inventory(); err != nil {
		return err
	}
	return l.loadFrom(r)
}

// loadFrom goes on after the inventory. It needs mu.
func (l *Log) loadFrom(r *recovery) error {
	steps := []func() error{r.measure, r.readEpochs, r.readProducers, r.walk, r.complete, r.begin}
	for _, step := range steps {
		if err := step(); err != nil {
			r.st.producers.clear()
			return err
		}
	}
	r.install()
	return nil
}

// walk goes through the batches of the segments that matter.
func (r *recovery) walk() error {
	for i, seg := range r.list {
		last := i == len(r.list)-1
		if i > 0 && seg.base < r.end {
			return r.cut(i-1, r.list[i-1].size.Load(), fmt.Errorf("segment %s begins before the end of the one before", baseName(seg.base)))
		}
		if i > 0 && seg.base > r.end {
			if r.l.mark != nil && r.end >= r.from { // the torn end of what was never synced
				return r.cut(i-1, r.list[i-1].size.Load(), fmt.Errorf("the next segment begins at offset %d, %d is expected", seg.base, r.end))
			}
			r.gap(r.end, "batches are missing before the next segment")
		}
		r.end = seg.base
		if !last && seg.next.Load() <= min(r.from, r.replay) {
			r.end = seg.next.Load()
			continue
		}
		if last && r.trusted && r.replay >= r.from && r.useIndex(seg) {
			r.end = r.from
			seg.next.Store(r.end)
			continue
		}
		next := seg.next.Load()
		pos, reason := r.walkSegment(seg, last)
		switch {
		case errors.Is(reason, errUnreadable):
			return reason
		case reason != nil && !last && next <= r.from && !r.l.cfg.Load().Strict:
			r.gap(seg.base, "synced batches are damaged: "+reason.Error()) // what lies behind is not in doubt
			r.end = next
			seg.next.Store(next)
		case reason != nil:
			return r.cut(i, pos, reason)
		}
	}
	return nil
}

// useIndex takes the active segment's index files, which are complete only
// after a clean stop.
func (r *recovery) useIndex(seg *segment) bool {
	if !r.l.store.clean {
		return false
	}
	file, err := seg.acquire()
	if err != nil {
		return false
	}
	defer seg.release()
	seg.next.Store(r.from)
	x, err := loadIndex(r.fs, seg, file)
	if err != nil {
		return false
	}
	seg.live = x
	seg.maxTS.Store(x.max.ts)
	return true
}

// walkSegment reads the headers of a segment, and whole batches where they are
// in doubt. It ends with the position and the reason of the first failure.
func (r *recovery) walkSegment(seg *segment, last bool) (pos int64, reason error) {
	file, err := seg.acquire()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer seg.release()
	x := newIndex(seg.base)
	w := newWalker(file, seg.size.Load())
	defer w.close()
	defer func() { r.walked(seg, x, last) }()
	var scratch []byte
	for {
		b, err := w.header(pos)
		if err == io.EOF {
			return pos, nil
		}
		if err == nil && b.NextOffset() > r.from {
			if scratch, err = readBatch(file, b, pos, scratch); err == nil {
				b = scratch
				err = record.Batch(scratch).Check()
			}
		}
		if err == nil {
			err = r.inOrder(b)
		}
		if err != nil {
			return pos, err
		}
		r.take(b, pos, x)
		pos += b.Size()
	}
}

func (r *recovery) inOrder(b record.Batch) error {
	if b.BaseOffset() != r.end || b.LastOffsetDelta() < 0 {
		return fmt.Errorf("batch begins at offset %d, %d is expected", b.BaseOffset(), r.end)
	}
	return nil
}

// take notes a good batch.
func (r *recovery) take(b record.Batch, pos int64, x *index) {
	x.add(b, pos, r.l.cfg.Load().IndexIntervalBytes)
	if b.BaseOffset() >= r.replay {
		r.st.producers.take(b, r.now.UnixMilli())
	}
	if b.NextOffset() > r.from && b.LeaderEpoch() >= 0 {
		r.epochs = r.epochs.with(b.LeaderEpoch(), b.BaseOffset())
		r.st.unsaved = true
	}
	r.end = b.NextOffset()
}

// walked notes what is known of a segment after its walk.
func (r *recovery) walked(seg *segment, x *index, last bool) {
	seg.next.Store(r.end)
	seg.maxTS.Store(x.max.ts)
	seg.live = x
	r.st.grew = true
	if !last && seg.next.Load() > r.from {
		if n := len(r.st.pending); n > 0 {
			r.st.pending[n-1].snapshot = nil // the newest one will do, and all of them may be large
		}
		r.st.pending = append(r.st.pending, sealed{seg, x, r.st.producers.encode()})
	}
}

// complete refuses a strict log that ends before what was once synced: those
// batches were acknowledged, and nobody knows what they said.
func (r *recovery) complete() error {
	m := r.l.mark
	if m == nil || r.end >= m.recovery || !r.l.cfg.Load().Strict {
		return nil
	}
	return kafka.Hide(kafka.KafkaStorageError, fmt.Errorf("%w: %s ends at offset %d, but everything below %d was synced (put the folder back from a backup)",
		errShort, r.dir, r.end, m.recovery))
}

// begin sees to it that the log goes on at an offset that was never used, and
// behind its start.
func (r *recovery) begin() error {
	start, err := readStart(r.fs, r.dir)
	if err != nil {
		return err
	}
	known := start
	if m := r.l.mark; m != nil {
		known = max(known, m.start)
		if len(r.list) == 0 {
			known = max(known, m.end)
		}
	}
	if known > r.end && len(r.list) > 0 && r.l.cfg.Load().Strict {
		return kafka.Hide(kafka.KafkaStorageError, fmt.Errorf("%w: %s ends at offset %d, but begins at %d (put the folder back from a backup)",
			errShort, r.dir, r.end, known))
	}
	if known > r.end || len(r.list) == 0 && known > 0 {
		if err := r.restart(known); err != nil {
			return err
		}
	}
	if len(r.list) > 0 {
		known = max(known, r.list[0].base)
	}
	r.l.start.Store(known)
	return nil
}

// restart lets the log go on at offset, without anything before it.
func (r *recovery) restart(offset int64) error {
	if err := r.drop(0, false); err != nil {
		return err
	}
	if err := r.l.makeFolder(r.st); err != nil {
		return err
	}
	seg := r.l.store.newSegment(r.dir, offset)
	if _, err := seg.acquire(); err != nil {
		return err
	}
	seg.release()
	seg.live = newIndex(offset)
	r.list, r.end = []*segment{seg}, offset
	return errors.Join(r.fs.SyncDir(r.dir), r.fs.SyncDir(r.l.store.o.Dir))
}

// install makes the result the log's state.
func (r *recovery) install() {
	l, st := r.l, r.st
	st.recovery = min(r.from, r.end)
	if n := len(r.epochs); n > 0 {
		st.epoch = r.epochs[n-1].epoch
	}
	r.epochs = r.epochs.until(r.end).from(l.start.Load())
	now := r.epochs.with(l.store.epoch, r.end)
	l.epochs.Store(&now)
	st.active = r.active()
	l.end.Store(r.end)
	l.handed = &handed{}
	l.state = st
	l.complain = ""
	l.setSegments(r.list)
	if st.recovery < r.end || len(st.pending) > 0 {
		l.store.note(l)
	}
}

// active gives the live index of the last segment; those of the others are
// sealed.
func (r *recovery) active() *index {
	for i, seg := range r.list {
		if seg.live == nil {
			continue
		}
		if i == len(r.list)-1 {
			r.st.begun = r.firstTimestamp(seg)
			return seg.live
		}
		r.l.store.indexes.put(seg, seg.live)
		seg.live = nil
	}
	return nil
}

// firstTimestamp is what the age of the active segment counts from.
func (r *recovery) firstTimestamp(seg *segment) int64 {
	file, err := seg.acquire()
	if err != nil {
		return -1
	}
	defer seg.release()
	w := newWalker(file, seg.size.Load())
	defer w.close()
	b, err := w.header(0)
	if err != nil {
		return -1
	}
	return b.MaxTimestamp()
}

// What ends the opening of a strict log.
var (
	errDamaged = errors.New("good batches follow a damaged one")
	errShort   = errors.New("batches are missing at the end")
)

func damaged(file string, pos, offset int64, reason error) error {
	return kafka.Hide(kafka.KafkaStorageError, fmt.Errorf("%w: %s at byte %d, offset %d: %w", errDamaged, file, pos, offset, reason))
}
