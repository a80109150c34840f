package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"runtime"

	"github.com/klauspost/compress/gzip"
	"github.com/pierrec/lz4/v4"
)

// skimBytes is how much of the decompressed bytes is there at a time.
const skimBytes = 32 << 10

// errInflated is errOpened where more memory would not help.
var errInflated = errors.New("the records are larger than 128 MiB")

// unreadable is what went wrong with decompressing, not with the records.
type unreadable struct{ cause error }

func (e *unreadable) Error() string { return e.cause.Error() }
func (e *unreadable) Unwrap() error { return e.cause }

// skimmer goes over the records of a compressed batch as they come out of it.
// It keeps none of their bytes, so what a batch opens to costs time, within
// maxOpened, and no memory.
type skimmer struct {
	r     *bufio.Reader
	close func()
	left  int64 // bytes of the record
	err   error // of the record; the first stays
}

// skim begins. What decompressing needs in memory is most bytes at the most.
func skim(b Batch, most int) (*skimmer, error) {
	r, end, err := stream(b.Codec(), b[HeaderSize:], most)
	if err != nil {
		return nil, &unreadable{err}
	}
	return &skimmer{r: bufio.NewReaderSize(&bounded{r, maxOpened}, skimBytes), close: end}, nil
}

// step reads one record. Of the view it makes the differences and whether
// there is a key.
func (s *skimmer) step(v *view) error {
	if _, err := s.r.Peek(1); err == io.EOF {
		return errTooFew
	}
	s.left, s.err = maxOpened, nil
	size := s.varint()
	switch {
	case s.err == nil && size > maxOpened:
		s.err = &unreadable{errInflated}
	case s.err == nil && size < 0:
		s.err = errRecordSize
	}
	s.left = size
	_, _ = s.ReadByte() // attributes: none are defined
	v.timeDelta = s.varint()
	v.offsetDelta = s.varint()
	v.key = nil
	if s.field() {
		v.key = someKey
	}
	s.field()
	s.headers(s.varint())
	return s.err
}

// someKey stands for a key that nobody looks into.
var someKey = []byte{}

// headers passes over them, to the end of the record.
func (s *skimmer) headers(count int64) {
	if s.err == nil && (count < 0 || count > s.left/2) {
		s.err = errHeaders
	}
	for range count {
		if s.err != nil {
			return
		}
		if !s.field() {
			s.fail(errHeaders)
		}
		s.field()
	}
	if s.left > 0 {
		s.fail(errHeaders)
	}
}

// end says what lies behind the last record, which must be nothing.
func (s *skimmer) end() error {
	switch _, err := s.r.Peek(1); err {
	case io.EOF:
		return nil
	case nil:
		return errTooMany
	default:
		return &unreadable{err}
	}
}

// field passes over one with a length and says whether it is not null.
func (s *skimmer) field() bool {
	size := s.varint()
	if s.err != nil || size == -1 {
		return false
	}
	if size < 0 || size > s.left {
		s.fail(errRecordFields)
		return false
	}
	s.left -= size
	if _, err := s.r.Discard(int(size)); err != nil {
		s.fail(cutShort(err))
	}
	return s.err == nil
}

func (s *skimmer) varint() int64 {
	x, err := binary.ReadVarint(s)
	if err != nil {
		s.fail(errRecordFields) // the varint is too long, or the reason is there already
	}
	return x
}

// ReadByte takes one byte of the record.
func (s *skimmer) ReadByte() (byte, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.left <= 0 {
		s.fail(errRecordFields)
		return 0, s.err
	}
	s.left--
	b, err := s.r.ReadByte()
	if err != nil {
		s.fail(cutShort(err))
	}
	return b, s.err
}

func (s *skimmer) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// cutShort is the error of a record in which the bytes ended.
func cutShort(err error) error {
	if err == io.EOF {
		return errRecordSize
	}
	return &unreadable{err}
}

// bounded ends with an error where there is more than it may give. It lets
// others go first, who have less to do.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	runtime.Gosched()
	n, err := b.r.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errInflated
	}
	return n, err
}

// stream decompresses src piece by piece. The reader must be ended.
func stream(c Codec, src []byte, most int) (r io.Reader, end func(), err error) {
	switch c {
	case Gzip:
		z := gzipReaders.Get().(*gzip.Reader)
		return z, func() { gzipReaders.Put(z) }, z.Reset(bytes.NewReader(src))
	case Snappy:
		return &blocks{rest: src, most: most}, func() {}, nil
	case LZ4:
		z := lz4Readers.Get().(*lz4.Reader)
		z.Reset(bytes.NewReader(src))
		return z, func() { lz4Readers.Put(z) }, nil
	case Zstd:
		z, err := openZstd(src, most)
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return nil, nil, errCodec(c)
}

// blocks reads snappy, one block after the other.
type blocks struct {
	rest   []byte // not decompressed
	begun  bool   // something has been read: nothing at all is no block
	framed bool   // the head has been read
	block  []byte // what is left of the block
	most   int    // bytes of a block
}

func (s *blocks) Read(p []byte) (int, error) {
	for len(s.block) == 0 {
		if s.begun && len(s.rest) == 0 {
			return 0, io.EOF
		}
		s.begun = true
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.block)
	s.block = s.block[n:]
	return n, nil
}

func (s *blocks) next() (err error) {
	if !s.framed && !isFramed(s.rest) {
		s.block, err = unblock(nil, s.rest, s.most)
		s.rest = nil
		return err
	}
	if !s.framed {
		s.framed, s.rest, s.block = true, s.rest[xerialHeader:], nil
		return nil
	}
	block, rest, err := cutBlock(s.rest)
	if err != nil {
		return err
	}
	s.rest = rest
	s.block, err = unblock(s.block[:0], block, s.most)
	return err
}

// Time is when and where a record is.
type Time struct {
	Offset    int64
	Timestamp int64 // ms since the epoch, the broker's when the batch says so
}

// Times gives the times of the records in order, like Records, and keeps
// nothing else of them. A compressed batch is open while it does: what is done
// in between must not open another, and not wait.
func (b Batch) Times() iter.Seq2[Time, error] {
	return func(yield func(Time, error) bool) {
		if len(b) < HeaderSize || b.Codec() == None {
			for r, err := range b.Records() {
				if !yield(Time{r.Offset, r.Timestamp}, err) || err != nil {
					return
				}
			}
			return
		}
		given, more := int32(0), true
		err := opening(func(most int) error {
			return b.times(most, func(i int32, t Time) bool {
				if i < given { // before it was opened with more memory
					return true
				}
				given++
				more = yield(t, nil)
				return more
			})
		})
		if err != nil && more {
			yield(Time{}, err)
		}
	}
}

// times is Times of a compressed batch.
func (b Batch) times(most int, yield func(int32, Time) bool) error {
	s, err := skim(b, most)
	if err != nil {
		return err
	}
	defer s.close()
	var v view
	for i := range b.Count() {
		if err := s.step(&v); err != nil {
			return err
		}
		if r := b.record(&v); !yield(i, Time{r.Offset, r.Timestamp}) {
			return nil
		}
	}
	return s.end()
}
