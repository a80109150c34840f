package record

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/snappy"
)

// The framing that Java puts around snappy: a magic of 8 bytes, two versions
// of 4, then blocks, each behind its size.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = 16
)

var errSnappy = errors.New("the snappy framing is broken")

// unsnappy takes both forms that clients send: framed, or one raw block
// (librdkafka).
func unsnappy(src []byte, max int) ([]byte, error) {
	if !isFramed(src) {
		return unblock(nil, src, max)
	}
	var out []byte
	for rest := src[xerialHeader:]; len(rest) > 0; {
		block, behind, err := cutBlock(rest)
		if err != nil {
			return nil, err
		}
		if out, err = unblock(out, block, max); err != nil {
			return nil, err
		}
		rest = behind
	}
	return out, nil
}

func isFramed(src []byte) bool {
	return len(src) >= xerialHeader && bytes.HasPrefix(src, []byte(xerialMagic))
}

// cutBlock takes the first block of a frame.
func cutBlock(src []byte) (block, rest []byte, err error) {
	if len(src) < 4 {
		return nil, nil, errSnappy
	}
	size := binary.BigEndian.Uint32(src)
	if uint64(size) > uint64(len(src)-4) {
		return nil, nil, errSnappy
	}
	return src[4 : 4+size], src[4+size:], nil
}

// maxSnappyRatio bounds what a snappy block can hold: a copy of 64 bytes takes
// three.
const maxSnappyRatio = 22

// unblock appends one decoded block. The block says its size; a size that it
// cannot hold is refused before memory is made for it.
func unblock(dst, block []byte, max int) ([]byte, error) {
	size, err := snappy.DecodedLen(block)
	switch {
	case err != nil:
		return nil, err
	case size > max-len(dst):
		return nil, errOpened
	case size > maxSnappyRatio*len(block):
		return nil, errSnappy
	}
	at := len(dst)
	dst = append(dst, make([]byte, size)...)
	if _, err := snappy.Decode(dst[at:], block); err != nil {
		return nil, err
	}
	return dst, nil
}
