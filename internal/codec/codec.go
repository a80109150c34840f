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
	f := frames.Get().(*Frame)
	c := newCursor(encoding, headerVersion(headerFlexible, 0), false)
	defer c.free()
	c.buf, c.parts = append(f.head[:0], 0, 0, 0, 0), f.parts[:0]
	c.response.CorrelationID = correlationID
	walk(c, &c.response)
	c.Version, c.flexible = version, flexible
	walk(c, m)
	f.head, f.parts = c.buf, c.parts
	f.size = len(f.head)
	for _, p := range f.parts {
		f.size += p.source.Size()
	}
	err := c.seal(f.size)
	if err != nil {
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
	if err := c.seal(len(c.buf)); err != nil {
		return nil, fmt.Errorf("encode %s request: %w", h.Key, err)
	}
	return c.buf, nil
}

// seal writes the size prefix of a frame of size bytes.
func (c *Cursor) seal(size int) error {
	if size > math.MaxInt32 {
		c.fail(0, "size", "frame of %d bytes is longer than its prefix can say", size)
	}
	binary.BigEndian.PutUint32(c.buf, uint32(size-4))
	return c.failure()
}
