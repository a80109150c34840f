package record

import (
	"encoding/binary"
	"errors"
)

// What can be wrong with a record. Fixed values, so that a walk allocates
// nothing.
var (
	errRecordSize   = errors.New("a record's length does not fit the batch")
	errRecordFields = errors.New("a record's fields do not fit its length")
	errHeaders      = errors.New("a record's headers do not fit its length")
	errTooFew       = errors.New("the batch holds fewer records than its count says")
	errTooMany      = errors.New("bytes are left behind the last record of the batch")
	errOffsetDelta  = errors.New("the offset deltas of the batch do not count up from 0")
)

// view is one record where it lies: its slices alias the walked bytes.
type view struct {
	timeDelta   int64
	offsetDelta int64
	key, value  []byte // nil is null
	headers     []byte // encoded, behind their count
	headerCount int
}

// walker goes over the records of a batch, uncompressed.
type walker struct{ rest []byte }

// next reads one record and checks that its fields end where it does.
func (w *walker) next(v *view) error {
	c := cursor{b: w.rest}
	size := c.varint()
	if c.bad || size < 0 || size > int64(len(c.b)-c.at) {
		return errRecordSize
	}
	end := c.at + int(size)
	c.b, w.rest = c.b[:end], w.rest[end:]
	return v.read(&c)
}

func (v *view) read(c *cursor) error {
	c.skip() // attributes: none are defined
	v.timeDelta = c.varint()
	v.offsetDelta = c.varint()
	v.key = c.bytes()
	v.value = c.bytes()
	count := c.varint()
	if c.bad {
		return errRecordFields
	}
	v.headers = c.b[c.at:]
	if count == 0 && len(v.headers) == 0 {
		v.headerCount = 0
		return nil
	}
	return v.checkHeaders(count, c)
}

// checkHeaders walks the headers once, so that whoever reads them later need
// not fear them. A header has at least two bytes, which bounds the count.
func (v *view) checkHeaders(count int64, c *cursor) error {
	if count < 0 || count > int64(len(v.headers)/2) {
		return errHeaders
	}
	v.headerCount = int(count)
	for range v.headerCount {
		if key := c.bytes(); key == nil {
			return errHeaders
		}
		c.bytes()
	}
	if c.bad || c.at < len(c.b) {
		return errHeaders
	}
	return nil
}

// cursor reads the fields of one record; once bad it stays bad.
type cursor struct {
	b   []byte
	at  int
	bad bool
}

func (c *cursor) skip() {
	c.at++
	c.bad = c.bad || c.at > len(c.b)
}

// varint reads a zigzag varint. Most are one byte long: that case is small
// enough to be inlined.
func (c *cursor) varint() int64 {
	if c.at < len(c.b) && c.b[c.at] < 0x80 {
		x := c.b[c.at]
		c.at++
		return int64(x>>1) ^ -int64(x&1)
	}
	return c.longVarint()
}

func (c *cursor) longVarint() int64 {
	if c.bad || c.at > len(c.b) {
		return 0
	}
	x, n := binary.Varint(c.b[c.at:])
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.at += n
	return x
}

// bytes reads a field with a length; nil is null or a broken field.
func (c *cursor) bytes() []byte {
	size := c.varint()
	if size == -1 || c.bad {
		return nil
	}
	if size < 0 || size > int64(len(c.b)-c.at) {
		c.bad = true
		return nil
	}
	from := c.at
	c.at += int(size)
	return c.b[from:c.at:c.at]
}
