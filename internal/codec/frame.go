package codec

import (
	"io"
	"sync"
)

// maxPooled is the largest head that is kept for the next frame, in bytes.
const maxPooled = 1 << 20

// Frame is an encoded message with its size prefix. Record bytes that come
// from a source are read only when it is written.
type Frame struct {
	head  []byte
	parts []part
	size  int

	answer   answer // where it is encoded in pieces
	inPieces bool
}

// part is a source that belongs before head[at:].
type part struct {
	at     int
	source RecordSource
}

var frames = sync.Pool{New: func() any { return new(Frame) }}

// Size is the bytes WriteTo will write.
func (f *Frame) Size() int { return f.size }

// Head is the encoded bytes without the records that come from sources, up to
// the first of which offsets in it are those of the frame. It may be changed
// until the frame is written. A frame in pieces has none.
func (f *Frame) Head() []byte { return f.head }

// WriteTo writes the frame: one Write for each run of bytes between the
// sources. A source that gives fewer or more bytes than it said is an error,
// and w is then beyond use.
func (f *Frame) WriteTo(w io.Writer) (int64, error) {
	if f.inPieces {
		return f.writePieces(w)
	}
	var total int64
	from := 0
	for _, p := range f.parts {
		n, err := w.Write(f.head[from:p.at])
		total += int64(n)
		if err != nil {
			return total, err
		}
		m, err := p.source.WriteTo(w)
		total += m
		if err == nil && m != int64(p.source.Size()) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return total, err
		}
		from = p.at
	}
	if from == len(f.head) {
		return total, nil
	}
	n, err := w.Write(f.head[from:])
	return total + int64(n), err
}

// Release releases the sources and gives the head's memory back. The frame
// must not be used after it.
func (f *Frame) Release() {
	for i, p := range f.parts {
		p.source.Release()
		f.parts[i] = part{}
	}
	f.parts, f.head, f.size = f.parts[:0], f.head[:0], 0
	f.answer, f.inPieces = answer{}, false
	if cap(f.head) <= maxPooled {
		frames.Put(f)
	}
}
