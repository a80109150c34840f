package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Decode reads a body into m, which is zero or a Resetter that has been reset. budget is the
// memory that decoding may make, in bytes; records and byte arrays are slices
// of the body and cost nothing. Bytes after the body are ignored.
func Decode(body []byte, version int16, flexible bool, m Message, budget int) error {
	c := newCursor(decoding, version, flexible)
	defer c.free()
	c.buf, c.budget = body, budget
	walk(c, m)
	return c.failure()
}

// Encode appends a body, without a frame around it, as Decode reads it. Records
// must be bytes, not sources.
func Encode(to []byte, version int16, flexible bool, m Message) ([]byte, error) {
	c := newCursor(encoding, version, flexible)
	defer c.free()
	c.buf = to
	walk(c, m)
	if len(c.parts) > 0 {
		return nil, errors.New("encode a body: its records are not bytes")
	}
	return c.buf, c.failure()
}

// EncodeResponse makes the frame of an answer. headerFlexible is false for
// ApiVersions, whose header never has tags. The frame owns the records'
// sources, which are released at once on an error.
func EncodeResponse(correlationID int32, version int16, flexible, headerFlexible bool, m Message) (*Frame, error) {
	return encodeAnswer(answer{ResponseHeader{correlationID}, headerFlexible, version, flexible, m}, 0)
}

// EncodeResponseInPieces is EncodeResponse for an answer without sources of records,
// that may be long: one of more than 256 KiB is encoded when the frame is written, of
// which some 64 KiB are in memory at a time. Until the frame is released m must not
// change.
func EncodeResponseInPieces(correlationID int32, version int16, flexible, headerFlexible bool, m Message) (*Frame, error) {
	return encodeAnswer(answer{ResponseHeader{correlationID}, headerFlexible, version, flexible, m}, wholeBytes)
}

// encodeAnswer makes the frame of an answer, of which bytes above so many are only
// counted; 0: all are there.
func encodeAnswer(a answer, whole int) (*Frame, error) {
	f := frames.Get().(*Frame)
	c := newCursor(encoding, 0, false)
	defer c.free()
	c.buf, c.parts, c.pieces = f.head[:0], f.parts[:0], pieces{most: whole}
	f.answer = a
	c.walkAnswer(&f.answer)
	f.head, f.parts = c.buf, c.parts
	f.size = c.pieces.gone + len(f.head)
	for _, p := range f.parts {
		f.size += p.source.Size()
	}
	c.checkSize(f.size)
	if f.inPieces = c.pieces.gone > 0; !f.inPieces {
		f.answer = answer{}
		putSize(f.head, f.size)
	}
	if err := c.failure(); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}

// EncodeRequest makes the frame of a request, size prefix included. Records
// must be bytes, not sources.
func EncodeRequest(h RequestHeader, flexible bool, m Message) ([]byte, error) {
	c := newCursor(encoding, headerVersion(flexible, 1), false)
	defer c.free()
	c.buf = make([]byte, 4, 256)
	walk(c, &h)
	c.Version, c.flexible = h.Version, flexible
	walk(c, m)
	if len(c.parts) > 0 {
		return nil, fmt.Errorf("encode %s request: its records are not bytes", h.Key)
	}
	c.checkSize(len(c.buf))
	putSize(c.buf, len(c.buf))
	if err := c.failure(); err != nil {
		return nil, fmt.Errorf("encode %s request: %w", h.Key, err)
	}
	return c.buf, nil
}

// checkSize refuses a frame that is longer than its prefix can say.
func (c *Cursor) checkSize(size int) {
	if size > math.MaxInt32 {
		c.fail(0, "size", "frame of %d bytes is longer than its prefix can say", size)
	}
}

// putSize writes the prefix of a frame of size bytes.
func putSize(head []byte, size int) { binary.BigEndian.PutUint32(head, uint32(size-sizeBytes)) }
