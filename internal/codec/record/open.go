package record

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/klauspost/compress/zstd"
)

// maxOpened is the most bytes that one batch may have when it is opened, so
// that a batch of a few KB cannot ask for all memory there is.
const maxOpened = 128 << 20

// smallOpened is what opening a batch may cost in memory while others are
// opened too, in bytes. The few that need more are opened one at a time.
const smallOpened = 8 << 20

// Opening is work and never waits for anybody: more at a time would take more
// memory and leave no processor to requests that are done in no time.
var (
	seats = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	large = make(chan struct{}, 1)
)

// opening runs work within smallOpened, and where that is not enough once more
// with all that a batch may cost. The work must not call opening.
func opening(work func(most int) error) error {
	err := seated(seats, func() error { return work(smallOpened) })
	if tooSmall(err) {
		err = seated(large, func() error {
			return seated(seats, func() error { return work(maxOpened) })
		})
	}
	return err
}

func seated(seats chan struct{}, work func() error) error {
	seats <- struct{}{}
	defer func() { <-seats }()
	return work()
}

// tooSmall says whether work needs more memory than it was given.
func tooSmall(err error) bool {
	return errors.Is(err, errOpened) || errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)
}

// opened gives the records' bytes, decompressed where they must be, to use.
func (b Batch) opened(use func(raw []byte) error) error {
	if len(b) < HeaderSize {
		return ErrIncomplete
	}
	if b.Codec() == None {
		return use(b[HeaderSize:])
	}
	return opening(func(most int) error {
		raw, err := Decompress(b.Codec(), b[HeaderSize:], most)
		if err != nil {
			return fmt.Errorf("decompress batch at offset %d: %w", b.BaseOffset(), err)
		}
		return use(raw)
	})
}

// open is opened for bytes that stay.
func (b Batch) open() (raw []byte, err error) {
	err = b.opened(func(opened []byte) error {
		raw = opened
		return nil
	})
	return raw, err
}
