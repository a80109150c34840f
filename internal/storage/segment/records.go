package segment

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// piece is how much of a range is in memory at once, and smallPiece where many
// are: a peer that takes no bytes keeps its piece for as long as it is borne with.
const (
	piece       = 256 << 10
	smallPiece  = 16 << 10
	largePieces = 64
)

var (
	pieces      = sync.Pool{New: func() any { return new([piece]byte) }}
	smallPieces = sync.Pool{New: func() any { return new([smallPiece]byte) }}
	largeInUse  = make(chan struct{}, largePieces)
)

// borrow gives memory for a piece and takes it back.
func borrow() (buf []byte, back func()) {
	select {
	case largeInUse <- struct{}{}:
		p := pieces.Get().(*[piece]byte)
		return p[:], func() { pieces.Put(p); <-largeInUse }
	default:
		p := smallPieces.Get().(*[smallPiece]byte)
		return p[:], func() { smallPieces.Put(p) }
	}
}

// leastSent is the size from which on a range is sent by the kernel, in bytes:
// below it a copy beside the head of the answer costs less than a call of its own.
const leastSent = 32 << 10

// sender is a writer that has the kernel send from a file. It is
// errors.ErrUnsupported when it cannot; where nothing was sent by then, the bytes
// may be written instead.
type sender interface {
	SendFile(fd uintptr, pos, size int64) (int64, error)
}

// records is a range of whole batches in one segment, which it holds open.
type records struct {
	store *Store
	seg   *segment
	file  vfs.File
	pos   int64
	size  int64
	next  int64 // the offset that follows
	cold  bool  // not one of the last two segments: the disk may have to turn
}

// The guard of the contract.
var _ storage.Records = (*records)(nil)

// Size is in bytes.
func (r *records) Size() int { return int(r.size) }

// Release lets go of the segment.
func (r *records) Release() { r.seg.release() }

// WriteTo streams the range: from the file to the socket where both can do
// that, else through a buffer. The bytes were whole when the range was cut, so
// less of them is an error.
func (r *records) WriteTo(w io.Writer) (int64, error) {
	if n, err := r.send(w); n > 0 || !errors.Is(err, errors.ErrUnsupported) {
		return n, err
	}
	return r.copy(w)
}

// send has the kernel send the range. Old segments are copied: while the kernel
// waits for the disk it cannot be told from waiting for the peer, and how many
// threads wait for disks is bounded.
func (r *records) send(w io.Writer) (int64, error) {
	to, can := w.(sender)
	file, sendable := r.file.(vfs.Sendable)
	if !can || !sendable || r.cold || r.size < leastSent {
		return 0, errors.ErrUnsupported
	}
	n, err := to.SendFile(file.Fd(), r.pos, r.size)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		r.store.metrics.errors.WithLabelValues("read").Inc()
		err = fmt.Errorf("read %s at %d: %w", r.seg.path+logSuffix, r.pos+n, err)
	}
	return n, err
}

func (r *records) copy(w io.Writer) (int64, error) {
	buf, back := borrow()
	defer back()
	for done := int64(0); done < r.size; {
		part := buf[:min(int64(len(buf)), r.size-done)]
		if err := r.read(part, r.pos+done); err != nil {
			r.store.metrics.errors.WithLabelValues("read").Inc()
			return done, fmt.Errorf("read %s at %d: %w", r.seg.path+logSuffix, r.pos+done, err)
		}
		n, err := w.Write(part)
		done += int64(n)
		if err != nil {
			return done, err
		}
	}
	return r.size, nil
}

// read bounds how many threads wait for old segments at once.
func (r *records) read(p []byte, pos int64) error {
	if r.cold {
		r.store.cold <- struct{}{}
		defer func() { <-r.store.cold }()
	}
	_, err := readFull(r.file, p, pos)
	return err
}
