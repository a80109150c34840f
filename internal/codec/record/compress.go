package record

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compressor is a stream compressor that can be used again.
type compressor interface {
	io.WriteCloser
	Reset(w io.Writer)
}

var compressors = [...]sync.Pool{
	Gzip: {New: func() any { return gzip.NewWriter(nil) }},
	LZ4:  {New: func() any { return lz4.NewWriter(nil) }},
	Zstd: {New: func() any { return newZstd() }},
}

func newZstd() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(fmt.Sprintf("zstd encoder: %v", err)) // only for options that contradict each other
	}
	return w
}

// compress appends raw to dst, compressed. Snappy comes in the framing of
// xerial, which Java expects. A codec that is not known compresses nothing.
func compress(dst []byte, c Codec, raw []byte) []byte {
	switch c {
	case Gzip, LZ4, Zstd:
		w := compressors[c].Get().(compressor)
		defer compressors[c].Put(w)
		return pour(dst, raw, w)
	case Snappy:
		return append(dst, xerial.Encode(nil, raw)...) // it begins only an empty slice with its magic
	}
	return append(dst, raw...)
}

// pour runs raw through a compressor into memory, so that no step can fail.
func pour(dst, raw []byte, w compressor) []byte {
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	if _, err := w.Write(raw); err != nil {
		panic(fmt.Sprintf("compress to memory: %v", err))
	}
	if err := w.Close(); err != nil {
		panic(fmt.Sprintf("compress to memory: %v", err))
	}
	return out.Bytes()
}

// Recompress gives the batch in another codec, with everything else as it
// was. A batch that has the codec already comes back as it is.
func Recompress(b Batch, c Codec) (Batch, error) {
	if b.Codec() == c {
		return b, nil
	}
	var out Batch
	err := b.opened(func(raw []byte) error {
		out = compress(append(make([]byte, 0, HeaderSize+len(raw)), b[:HeaderSize]...), c, raw)
		out[22] = out[22]&^codecMask | byte(c)
		out.seal()
		return nil
	})
	return out, err
}
