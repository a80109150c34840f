package segment

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"

	"kaasd/internal/codec/record"
)

// Bounds of the index of one segment. When it is full every other entry goes,
// and from then on entries come half as often.
const (
	maxEntries      = 1024
	offsetEntrySize = 8
	timeEntrySize   = 12
)

var errIndex = errors.New("the index does not fit its segment")

// offsetEntry says where the batch lies whose last offset is base+rel.
type offsetEntry struct {
	rel, pos uint32
}

// timeEntry says that no record up to offset base+rel is newer than ts, and
// that the batch ending there is the first to hold ts.
type timeEntry struct {
	ts  int64
	rel uint32
}

// index is what is known about the batches of one segment without reading
// them. It is a plain machine: batches go in in order, positions come out.
type index struct {
	base    int64
	offsets []offsetEntry
	times   []timeEntry
	max     timeEntry // the running maximum; ts -1 before the first batch
	since   int       // bytes since the last entry
	spread  int       // how many times the interval between entries
}

func newIndex(base int64) *index {
	return &index{base: base, max: timeEntry{ts: -1}, spread: 1}
}

// add notes the batch at pos, of which the header is enough. interval is
// index.interval.bytes.
func (x *index) add(b record.Batch, pos int64, interval int) {
	rel := uint32(b.NextOffset() - 1 - x.base)
	if ts := b.MaxTimestamp(); ts > x.max.ts {
		x.max = timeEntry{ts: ts, rel: rel}
	}
	if x.since > interval*x.spread {
		x.offsets = append(x.offsets, offsetEntry{rel: rel, pos: uint32(pos)})
		x.noteTime()
		x.since = 0
		if len(x.offsets) >= maxEntries {
			x.halve()
		}
	}
	x.since += int(b.Size())
}

// noteTime makes the running maximum an entry, if it grew.
func (x *index) noteTime() {
	if n := len(x.times); x.max.ts >= 0 && (n == 0 || x.times[n-1].ts < x.max.ts) {
		x.times = append(x.times, x.max)
	}
}

func (x *index) halve() {
	for i := 1; i < len(x.offsets); i += 2 {
		x.offsets[i/2] = x.offsets[i]
	}
	x.offsets = x.offsets[:len(x.offsets)/2]
	for i := 1; i < len(x.times); i += 2 {
		x.times[i/2] = x.times[i]
	}
	x.times = x.times[:len(x.times)/2]
	x.spread *= 2
}

// position is a batch boundary at or before the batch that holds offset.
func (x *index) position(offset int64) int64 {
	i := sort.Search(len(x.offsets), func(i int) bool { return x.base+int64(x.offsets[i].rel) > offset })
	if i == 0 {
		return 0
	}
	return int64(x.offsets[i-1].pos)
}

// floor is a batch boundary at or before pos.
func (x *index) floor(pos int64) int64 {
	i := sort.Search(len(x.offsets), func(i int) bool { return int64(x.offsets[i].pos) > pos })
	if i == 0 {
		return 0
	}
	return int64(x.offsets[i-1].pos)
}

// olderThan is an offset up to which every record is older than ts.
func (x *index) olderThan(ts int64) int64 {
	i := sort.Search(len(x.times), func(i int) bool { return x.times[i].ts >= ts })
	if i == 0 {
		return x.base
	}
	return x.base + int64(x.times[i-1].rel)
}

// bytes is what the index costs in memory.
func (x *index) bytes() int64 {
	return int64(len(x.offsets)*offsetEntrySize + len(x.times)*timeEntrySize + 96)
}

// encode gives the files .index and .timeindex; the last time entry is always
// the running maximum.
func (x *index) encode() (offsets, times []byte) {
	for _, e := range x.offsets {
		offsets = binary.BigEndian.AppendUint32(offsets, e.rel)
		offsets = binary.BigEndian.AppendUint32(offsets, e.pos)
	}
	list := x.times
	if n := len(list); x.max.ts >= 0 && (n == 0 || list[n-1].ts < x.max.ts) {
		list = append(slices.Clone(list), x.max)
	}
	for _, e := range list {
		times = binary.BigEndian.AppendUint64(times, uint64(e.ts))
		times = binary.BigEndian.AppendUint32(times, e.rel)
	}
	return offsets, times
}

// decodeIndex reads what encode wrote for a segment of that many bytes that
// ends before offset next. Anything that can not be so is an error.
func decodeIndex(base, next, size int64, offsets, times []byte) (*index, error) {
	x := newIndex(base)
	if len(offsets)%offsetEntrySize != 0 || len(times)%timeEntrySize != 0 {
		return nil, errIndex
	}
	last := offsetEntry{}
	for at := 0; at < len(offsets); at += offsetEntrySize {
		e := offsetEntry{binary.BigEndian.Uint32(offsets[at:]), binary.BigEndian.Uint32(offsets[at+4:])}
		if e.rel <= last.rel && at > 0 || e.pos <= last.pos || int64(e.pos) >= size || base+int64(e.rel) >= next {
			return nil, errIndex
		}
		x.offsets = append(x.offsets, e)
		last = e
	}
	for at := 0; at < len(times); at += timeEntrySize {
		e := timeEntry{int64(binary.BigEndian.Uint64(times[at:])), binary.BigEndian.Uint32(times[at+8:])}
		if e.ts <= x.max.ts || e.rel <= x.max.rel && at > 0 || base+int64(e.rel) >= next {
			return nil, errIndex
		}
		x.times = append(x.times, e)
		x.max = e
	}
	return x, nil
}
