package segment

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage/vfs"
)

// window is how much a walker reads at once: many small batches, or a bit of a
// large one. Its first look is smaller, as it often is the only one.
const (
	window = 16 << 10
	glance = 512
)

// errUnreadable says that the disk did not give the bytes, which tells nothing
// about them.
var errUnreadable = errors.New("can not be read")

var windows = sync.Pool{New: func() any { return new([window]byte) }}

// walker reads the headers of a segment's batches in order.
type walker struct {
	file vfs.File
	end  int64 // bytes of the file that count
	buf  *[window]byte
	at   int64 // file position of buf
	n    int   // bytes in buf
}

func newWalker(file vfs.File, end int64) *walker {
	return &walker{file: file, end: end, buf: windows.Get().(*[window]byte)}
}

func (w *walker) close() { windows.Put(w.buf) }

// header gives the first HeaderSize bytes of the batch at pos, valid until the
// next call. io.EOF says that nothing is left; any other error that what is
// there is no batch.
func (w *walker) header(pos int64) (record.Batch, error) {
	if pos >= w.end {
		return nil, io.EOF
	}
	if w.end-pos < record.HeaderSize {
		return nil, fmt.Errorf("%d bytes are left, too few for a batch: %w", w.end-pos, record.ErrIncomplete)
	}
	if pos < w.at || pos+record.HeaderSize > w.at+int64(w.n) {
		if err := w.fill(pos); err != nil {
			return nil, err
		}
	}
	b := record.Batch(w.buf[pos-w.at:][:record.HeaderSize])
	return b, w.judge(b, pos)
}

func (w *walker) judge(b record.Batch, pos int64) error {
	switch size := b.Size(); {
	case size < record.HeaderSize:
		return fmt.Errorf("length %d is too small for a batch", size-record.LogOverhead)
	case b.Magic() != record.Magic2:
		return fmt.Errorf("magic is %d, not %d", b.Magic(), record.Magic2)
	case size > w.end-pos:
		return fmt.Errorf("batch of %d bytes, %d are left: %w", size, w.end-pos, record.ErrIncomplete)
	}
	return nil
}

func (w *walker) fill(pos int64) error {
	size := int64(window)
	if w.n == 0 {
		size = glance
	}
	n, err := readFull(w.file, w.buf[:min(size, w.end-pos)], pos)
	w.at, w.n = pos, n
	if n >= record.HeaderSize {
		return nil
	}
	return fmt.Errorf("%w: at byte %d: %w", errUnreadable, pos, err)
}

// readFull fills p from pos on, or says why not.
func readFull(file vfs.File, p []byte, pos int64) (int, error) {
	n, err := file.ReadAt(p, pos)
	if n == len(p) {
		return n, nil
	}
	if err == io.EOF || err == nil {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// readBatch reads one whole batch whose header was judged.
func readBatch(file vfs.File, header record.Batch, pos int64, scratch []byte) (record.Batch, error) {
	size := int(header.Size())
	if cap(scratch) < size {
		scratch = make([]byte, size)
	}
	b := scratch[:size]
	if _, err := readFull(file, b, pos); err != nil {
		return nil, fmt.Errorf("%w: at byte %d: %w", errUnreadable, pos, err)
	}
	return b, nil
}
