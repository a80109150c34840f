package segment

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// errStructure says that a position that should be a batch boundary is none.
var errStructure = errors.New("no batch where one should begin")

// errPast says that a segment ends before the offset, though the next one
// begins behind it: batches are missing.
var errPast = errors.New("the offset is behind the segment's last batch")

// Read finds whole batches from the one that holds r.Offset on. They come from
// one segment.
func (l *Log) Read(r storage.Read) (storage.Slice, error) {
	if l.known.Load() && !l.serving.Load() && r.Offset == l.hw.Load() && l.failed.Load() == nil {
		return storage.Slice{Offsets: l.offsets()}, nil // a poll at the end opens nothing
	}
	if err := l.ready(); err != nil {
		return storage.Slice{}, err
	}
	for {
		s, err := l.read(r)
		if errors.Is(err, errDead) { // retention took the segment: look again
			if f := l.failed.Load(); f != nil {
				return storage.Slice{}, f.err
			}
			continue
		}
		return s, err
	}
}

func (l *Log) read(r storage.Read) (storage.Slice, error) {
	o := l.offsets()
	if r.Offset < o.Start || r.Offset > o.End {
		return storage.Slice{Offsets: o}, kafka.Errorf(kafka.OffsetOutOfRange, "offset %d is not within %d and %d", r.Offset, o.Start, o.End)
	}
	if r.Offset >= o.HighWatermark {
		return storage.Slice{Offsets: o}, nil
	}
	records, err := l.find(l.segments(), r)
	if err != nil {
		if errors.Is(err, errDead) {
			return storage.Slice{}, err
		}
		return storage.Slice{Offsets: o}, l.readError(err)
	}
	out := storage.Slice{Offsets: o}
	if records != nil {
		out.Records, out.Next = records, records.next
		// What was appended since is told of where the range holds it, and else not:
		// it would look like more than one read can give.
		out.Offsets.HighWatermark = max(o.HighWatermark, records.next)
		out.Offsets.LastStable = max(o.LastStable, records.next)
		out.Offsets.End = max(o.End, records.next)
	}
	return out, nil
}

// find cuts the range out of the segment that holds the offset, or out of the
// next one when batches are missing there.
func (l *Log) find(list []*segment, r storage.Read) (*records, error) {
	for i := holding(list, r.Offset); i >= 0 && i < len(list); i++ {
		records, err := l.slice(list[i], r, i+2 < len(list))
		if !errors.Is(err, errPast) {
			return records, err
		}
	}
	return nil, nil
}

func (l *Log) readError(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.failed.Load(); f != nil {
		return f.err
	}
	return l.report("read", err)
}

// holding is the place of the segment that holds offset, or of the first one
// behind it when a segment is missing there; -1 when there is none.
func holding(list []*segment, offset int64) int {
	i := sort.Search(len(list), func(i int) bool { return list[i].next.Load() > offset })
	if i == len(list) {
		return -1
	}
	return i
}

// slice cuts the range out of seg. Nil without error: nothing fits.
func (l *Log) slice(seg *segment, r storage.Read, cold bool) (*records, error) {
	file, err := seg.acquire()
	if err != nil {
		return nil, err
	}
	from, size, next, err := l.extent(seg, file, r)
	if err != nil || size == 0 {
		seg.release()
		return nil, err
	}
	l.handed.put(seg, next, from+size)
	return &records{store: l.store, seg: seg, file: file, pos: from, size: size, next: next, cold: cold}, nil
}

// extent finds where the range begins, how long it is, and the offset that
// follows it. An index that leads astray is made anew, once.
func (l *Log) extent(seg *segment, file vfs.File, r storage.Read) (from, size, next int64, err error) {
	end, before := seg.shown()
	w := newWalker(file, end)
	defer w.close()
	from, size, next, err = l.span(w, seg, r, before)
	if errors.Is(err, errStructure) {
		l.store.indexes.drop(seg)
		if err = l.rebuildIndex(seg, file); err == nil {
			from, size, next, err = l.span(w, seg, r, before)
		}
	}
	return from, size, next, err
}

// span is extent with the index as it is. before is the offset that follows what
// the walker may see.
func (l *Log) span(w *walker, seg *segment, r storage.Read, before int64) (from, size, next int64, err error) {
	from, first, next, err := l.locate(w, seg, r.Offset)
	if err != nil {
		return 0, 0, 0, err
	}
	limit := int64(r.MaxBytes)
	switch {
	case first > limit && !r.AtLeast1:
		return 0, 0, 0, nil
	case first >= limit:
		return from, first, next, nil
	case w.end-from <= limit:
		return from, w.end - from, before, nil
	}
	to, next, err := l.whole(w, seg, from+first, from+limit, next)
	return from, to - from, next, err
}

// locate gives the position and size of the batch that holds offset, or of the
// first one behind it, and the offset that follows; errPast when nothing is
// visible there.
func (l *Log) locate(w *walker, seg *segment, offset int64) (pos, size, next int64, err error) {
	pos, sure := l.handed.get(seg, offset)
	if !sure {
		if pos, err = l.ask(seg, func(x *index) int64 { return x.position(offset) }); err != nil {
			return 0, 0, 0, err
		}
		sure = pos == 0
	}
	for ; ; sure = true {
		b, err := w.header(pos)
		switch {
		case err == io.EOF:
			return 0, 0, 0, errPast
		case err != nil:
			return 0, 0, 0, fmt.Errorf("%w: %s at %d: %w", errStructure, seg.path+logSuffix, pos, err)
		case !sure && b.BaseOffset() > offset: // records before it would not be found
			return 0, 0, 0, fmt.Errorf("%w: %s at %d: the index wants offset %d there, and it begins with %d", errStructure, seg.path+logSuffix, pos, offset, b.BaseOffset())
		case b.NextOffset() > offset:
			return pos, b.Size(), b.NextOffset(), nil
		}
		pos += b.Size()
	}
}

// whole is the last batch boundary at or before limit, and the offset there.
// pos is a boundary with the offset next.
func (l *Log) whole(w *walker, seg *segment, pos, limit, next int64) (int64, int64, error) {
	ahead, err := l.ask(seg, func(x *index) int64 { return x.floor(limit) })
	if err != nil {
		return 0, 0, err
	}
	pos = max(pos, ahead)
	for {
		b, err := w.header(pos)
		if err == io.EOF {
			return pos, next, nil
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%w: %s at %d: %w", errStructure, seg.path+logSuffix, pos, err)
		}
		if pos+b.Size() > limit {
			return pos, b.BaseOffset(), nil
		}
		next = b.NextOffset()
		pos += b.Size()
	}
}

// ask puts a question to the index of seg, which is read when it must be.
func (l *Log) ask(seg *segment, question func(*index) int64) (int64, error) {
	seg.idxMu.RLock()
	if seg.live != nil {
		defer seg.idxMu.RUnlock()
		return question(seg.live), nil
	}
	seg.idxMu.RUnlock()
	x := l.store.indexes.get(seg)
	if x == nil {
		var err error
		if x, err = l.readIndex(seg); err != nil {
			return 0, err
		}
	}
	return question(x), nil
}

// readIndex reads the index of a sealed segment from its files, or walks the
// segment when they are of no use.
func (l *Log) readIndex(seg *segment) (*index, error) {
	file, err := seg.acquire()
	if err != nil {
		return nil, err
	}
	defer seg.release()
	x, err := loadIndex(l.store.o.FS, seg, file)
	if err == nil {
		seg.maxTS.Store(x.max.ts)
		l.store.indexes.put(seg, x)
		return x, nil
	}
	if err := l.rebuildIndex(seg, file); err != nil {
		return nil, err
	}
	if x := l.store.indexes.get(seg); x != nil {
		return x, nil
	}
	return newIndex(seg.base), nil // pushed out of the cache again: walk from the start
}

// loadIndex reads the index files of a segment whose size and end are known.
func loadIndex(fsys vfs.FS, seg *segment, file vfs.File) (*index, error) {
	offsets, err := vfs.ReadFile(fsys, seg.path+indexSuffix, 64<<20)
	if err != nil {
		return nil, err
	}
	times, err := vfs.ReadFile(fsys, seg.path+timeSuffix, 64<<20)
	if err != nil {
		return nil, err
	}
	if seg.size.Load() > 0 && len(times) == 0 {
		return nil, errIndex // batches without any timestamp are rare enough to be walked
	}
	x, err := decodeIndex(seg.base, seg.next.Load(), seg.size.Load(), offsets, times)
	if err == nil && len(times) > 0 {
		err = x.checkNewest(file, seg.size.Load())
	}
	return x, err
}

// checkNewest holds the largest timestamp, which retention and lookups build on,
// against the batch it is said to be from.
func (x *index) checkNewest(file vfs.File, size int64) error {
	w := newWalker(file, size)
	defer w.close()
	offset := x.base + int64(x.max.rel)
	for pos := x.position(offset); ; {
		b, err := w.header(pos)
		if err != nil {
			return errIndex
		}
		if b.NextOffset() > offset {
			if b.NextOffset() != offset+1 || b.MaxTimestamp() != x.max.ts {
				return errIndex
			}
			return nil
		}
		pos += b.Size()
	}
}

// rebuildIndex walks a sealed segment's headers.
func (l *Log) rebuildIndex(seg *segment, file vfs.File) error {
	seg.idxMu.RLock()
	live := seg.live != nil
	seg.idxMu.RUnlock()
	if live {
		return fmt.Errorf("%w: %s", errStructure, seg.path+logSuffix)
	}
	x := newIndex(seg.base)
	w := newWalker(file, seg.size.Load())
	defer w.close()
	for pos := int64(0); ; {
		b, err := w.header(pos)
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("index %s at %d: %w", seg.path+logSuffix, pos, err)
		}
		x.add(b, pos, l.cfg.Load().IndexIntervalBytes)
		pos += b.Size()
	}
	seg.maxTS.Store(x.max.ts)
	l.store.indexes.put(seg, x)
	return nil
}

// handed remembers the ends of the last ranges handed out, which is where
// readers in order come back.
type handed struct {
	mu   sync.Mutex
	next int
	last [4]struct {
		seg         *segment
		offset, pos int64
	}
}

// get gives the position of offset, if a range ended there.
func (h *handed) get(seg *segment, offset int64) (int64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.last {
		if e := &h.last[i]; e.seg == seg && e.offset == offset {
			return e.pos, true
		}
	}
	return 0, false
}

// put notes that a range ended at pos, before offset.
func (h *handed) put(seg *segment, offset, pos int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &h.last[h.next]
	h.next = (h.next + 1) % len(h.last)
	e.seg, e.offset, e.pos = seg, offset, pos
}
