package record

import (
	"errors"
	"fmt"
)

// ErrIncomplete says that the bytes end before the batch does: a torn write,
// or the end of a read.
var ErrIncomplete = errors.New("the batch is incomplete")

// Next cuts the first whole batch off b, without looking further than its
// size. The error is ErrIncomplete when more bytes would help, another when the
// size is impossible.
func Next(b []byte) (first Batch, rest []byte, err error) {
	if len(b) < LogOverhead {
		return nil, b, ErrIncomplete
	}
	size := Batch(b).Size()
	switch {
	case size < HeaderSize:
		return nil, b, fmt.Errorf("batch length %d is below the smallest one of %d", size-LogOverhead, HeaderSize-LogOverhead)
	case size > int64(len(b)):
		return nil, b, ErrIncomplete
	}
	return Batch(b[:size:size]), b[size:], nil
}

// Check verifies what a batch on disk must satisfy: magic, size, checksum, a
// codec that exists and a count that fits the offsets. The records are not
// looked at. The error is for the log, not for a client.
func (b Batch) Check() error {
	switch {
	case len(b) < HeaderSize:
		return ErrIncomplete
	case b.Size() != int64(len(b)):
		return fmt.Errorf("batch length %d does not fit the %d bytes of the batch", b.Size()-LogOverhead, len(b))
	case b.Magic() != Magic2:
		return fmt.Errorf("magic is %d, not %d", b.Magic(), Magic2)
	case b.CRC() != b.Sum():
		return fmt.Errorf("checksum is %08x, the bytes give %08x", b.CRC(), b.Sum())
	}
	return b.checkHeader()
}

// checkHeader judges the fields that the checksum covers.
func (b Batch) checkHeader() error {
	switch {
	case b.Count() <= 0 || int64(b.LastOffsetDelta())+1 != int64(b.Count()):
		return fmt.Errorf("a last offset delta of %d does not fit %d records", b.LastOffsetDelta(), b.Count())
	case !b.Codec().known():
		return fmt.Errorf("compression codec %d does not exist", b.Codec())
	}
	return nil
}
