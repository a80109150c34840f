package segment

import (
	"errors"
	"fmt"
	"io"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage"
)

// none is the answer when no record is found.
var none = storage.TimeOffset{Offset: -1, Timestamp: -1, Epoch: -1}

// OffsetFor finds the first record at or after ts, in offset order.
func (l *Log) OffsetFor(ts int64) (storage.TimeOffset, error) {
	return l.search(func(list []*segment) (storage.TimeOffset, error) {
		for _, seg := range list {
			newest, err := l.newest(seg)
			if err != nil {
				return none, err
			}
			if newest < ts {
				continue
			}
			if t, err := l.firstSince(seg, ts); err != nil || t.Offset >= 0 {
				return t, err
			}
		}
		return none, nil
	})
}

// MaxTimestamp finds the first record with the largest timestamp.
func (l *Log) MaxTimestamp() (storage.TimeOffset, error) {
	return l.search(func(list []*segment) (storage.TimeOffset, error) {
		best := none
		for _, seg := range list {
			newest, err := l.newest(seg)
			if err != nil {
				return none, err
			}
			if newest <= best.Timestamp {
				continue
			}
			t, err := l.newestRecord(seg)
			if err != nil {
				return none, err
			}
			if t.Offset >= 0 && (best.Offset < 0 || t.Timestamp > best.Timestamp) {
				best = t
			}
		}
		return best, nil
	})
}

// search asks again when retention took a segment meanwhile.
func (l *Log) search(ask func([]*segment) (storage.TimeOffset, error)) (storage.TimeOffset, error) {
	if err := l.ready(); err != nil {
		return none, err
	}
	for {
		t, err := ask(l.segments())
		switch {
		case err == nil:
			return t, nil
		case !errors.Is(err, errDead):
			return none, l.readError(err)
		}
		if f := l.failed.Load(); f != nil {
			return none, f.err
		}
	}
}

// firstSince finds the first record of seg at or after ts; none without error.
func (l *Log) firstSince(seg *segment, ts int64) (storage.TimeOffset, error) {
	pos, err := l.ask(seg, func(x *index) int64 { return x.position(x.olderThan(ts)) })
	if err != nil {
		return none, err
	}
	found := none
	err = l.batches(seg, pos, ts, func(b record.Batch) bool {
		found = firstIn(b, ts, l.start.Load())
		return found.Offset < 0
	})
	return found, err
}

// newestRecord finds the first of the newest records of seg that consumers may
// see.
func (l *Log) newestRecord(seg *segment) (storage.TimeOffset, error) {
	start, best := l.start.Load(), none
	from := int64(0)
	if newest, err := l.newest(seg); err == nil && seg.base >= start && seg.visible.Load() == seg.size.Load() {
		if from, err = l.ask(seg, func(x *index) int64 { return x.position(x.olderThan(newest)) }); err != nil {
			return none, err
		}
	}
	err := l.batches(seg, from, 0, func(b record.Batch) bool {
		if b.MaxTimestamp() > best.Timestamp {
			if t := newestIn(b, start); t.Timestamp > best.Timestamp {
				best = t
			}
		}
		return true
	})
	return best, err
}

// batches gives the visible batches of seg from pos on whose newest record is
// at or after ts and that reach beyond the log's start, until more is false.
func (l *Log) batches(seg *segment, pos, ts int64, more func(record.Batch) bool) error {
	file, err := seg.acquire()
	if err != nil {
		return err
	}
	defer seg.release()
	w := newWalker(file, seg.visible.Load())
	defer w.close()
	var scratch []byte
	for {
		b, err := w.header(pos)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s at %d: %w", seg.path+logSuffix, pos, err)
		}
		size := b.Size()
		if b.MaxTimestamp() >= ts && b.NextOffset() > l.start.Load() {
			if scratch, err = readBatch(file, b, pos, scratch); err != nil {
				return err
			}
			if !more(scratch) {
				return nil
			}
		}
		pos += size
	}
}

// firstIn finds the first record of b at or after ts and start. Records that
// can not be opened count as one, with the batch's newest time.
func firstIn(b record.Batch, ts, start int64) storage.TimeOffset {
	for r, err := range b.Times() {
		if err != nil {
			return unopened(b, start)
		}
		if r.Offset >= start && r.Timestamp >= ts {
			return storage.TimeOffset{Offset: r.Offset, Timestamp: r.Timestamp, Epoch: b.LeaderEpoch()}
		}
	}
	return none
}

// newestIn finds the first of the newest records of b from start on.
func newestIn(b record.Batch, start int64) storage.TimeOffset {
	best := none
	for r, err := range b.Times() {
		if err != nil {
			return unopened(b, start)
		}
		if r.Offset >= start && r.Timestamp > best.Timestamp {
			best = storage.TimeOffset{Offset: r.Offset, Timestamp: r.Timestamp, Epoch: b.LeaderEpoch()}
		}
	}
	return best
}

func unopened(b record.Batch, start int64) storage.TimeOffset {
	return storage.TimeOffset{Offset: max(b.BaseOffset(), start), Timestamp: b.MaxTimestamp(), Epoch: b.LeaderEpoch()}
}
