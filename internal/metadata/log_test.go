package metadata

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage"
)

// memoryLog is a storage.Log that keeps its batches in a slice and fails
// when told to.
type memoryLog struct {
	storage.Log // what the store must not call

	mu       sync.Mutex
	bytes    []byte // from start on
	start    int64
	end      int64
	synced   int64
	noAppend error
	noSync   error
	noMove   error
}

func (l *memoryLog) Append(b record.Batch, _ time.Time) (storage.Appended, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noAppend != nil {
		return storage.Appended{}, l.noAppend
	}
	base := l.end
	b.Stamp(base, 1)
	l.bytes = append(l.bytes, b...)
	l.end = b.NextOffset()
	return storage.Appended{BaseOffset: base, NextOffset: l.end, AppendTime: -1}, nil
}

func (l *memoryLog) Wait(ctx context.Context, offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case offset <= l.synced:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case l.noSync != nil:
		return l.noSync
	}
	l.synced = offset
	return nil
}

func (l *memoryLog) Offsets() storage.Offsets {
	l.mu.Lock()
	defer l.mu.Unlock()
	return storage.Offsets{Start: l.start, HighWatermark: l.synced, LastStable: l.synced, End: l.end, Epoch: 1}
}

// DeleteRecords forgets whole batches.
func (l *memoryLog) DeleteRecords(offset int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noMove != nil {
		return -1, l.noMove
	}
	for {
		b, rest, err := record.Next(l.bytes)
		if err != nil || b.NextOffset() > offset {
			break
		}
		l.bytes = rest
	}
	l.start = max(l.start, offset)
	return l.start, nil
}

// Read gives one batch at a time, so that replay is put together from parts.
func (l *memoryLog) Read(r storage.Read) (storage.Slice, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := l.bytes; len(rest) > 0; {
		b, tail, err := record.Next(rest)
		if err != nil {
			return storage.Slice{Records: rawRecords(rest)}, nil
		}
		if b.NextOffset() > r.Offset {
			return storage.Slice{Records: rawRecords(b)}, nil
		}
		rest = tail
	}
	return storage.Slice{}, nil
}

type rawRecords []byte

func (r rawRecords) Size() int { return len(r) }
func (r rawRecords) Release()  {}
func (r rawRecords) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(r)
	return int64(n), err
}

var errDisk = errors.New("the disk is gone")
