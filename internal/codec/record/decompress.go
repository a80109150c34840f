package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var errOpened = errors.New("the records are larger than the limit")

var (
	gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}
	lz4Readers  = sync.Pool{New: func() any { return lz4.NewReader(nil) }}
)

// Decompress gives the bytes behind src, which may be max of them at most.
// Memory grows with what really comes out, not with what src claims.
func Decompress(c Codec, src []byte, max int) ([]byte, error) {
	switch c {
	case None:
		if len(src) > max {
			return nil, errOpened
		}
		return src, nil
	case Gzip:
		return gunzip(src, max)
	case Snappy:
		return unsnappy(src, max)
	case LZ4:
		r := lz4Readers.Get().(*lz4.Reader)
		defer lz4Readers.Put(r)
		r.Reset(bytes.NewReader(src))
		return drain(r, len(src), max)
	case Zstd:
		return unzstd(src, max)
	}
	return nil, errCodec(c)
}

func errCodec(c Codec) error { return fmt.Errorf("compression codec %d does not exist", c) }

func gunzip(src []byte, max int) ([]byte, error) {
	r := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(r)
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, err
	}
	return drain(r, len(src), max)
}

func unzstd(src []byte, max int) ([]byte, error) {
	r, err := openZstd(src, max)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return drain(r, len(src), max)
}

// openZstd makes a decoder for each batch: batches are opened rarely, and a kept
// one would hold on to the largest window it ever saw. A window above most and
// smallOpened is
// an error.
func openZstd(src []byte, most int) (*zstd.Decoder, error) {
	// The reader is wrapped so that the decoder streams instead of
	// decoding everything it finds in a buffer at once.
	return zstd.NewReader(io.MultiReader(bytes.NewReader(src)), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(uint64(max(most, smallOpened))))
}

// drain reads everything, up to max bytes; guess is the compressed size.
func drain(r io.Reader, guess, max int) ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, min(4*guess+bytes.MinRead, max+bytes.MinRead)))
	n, err := out.ReadFrom(io.LimitReader(r, int64(max)+1))
	switch {
	case err != nil:
		return nil, err
	case n > int64(max):
		return nil, errOpened
	}
	return out.Bytes(), nil
}
