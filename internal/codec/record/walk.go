package record

import "errors"

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
	size, n := varint(w.rest)
	if n == 0 || size < 0 || size > int64(len(w.rest)-n) {
		return errRecordSize
	}
	end := n + int(size)
	c := cursor{rest: w.rest[n:end]}
	w.rest = w.rest[end:]
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
	v.headers = c.rest
	if count == 0 && len(c.rest) == 0 {
		v.headerCount = 0
		return nil
	}
	return v.checkHeaders(count, c)
}

// checkHeaders walks the headers once, so that whoever reads them later need
// not fear them. A header has at least two bytes, which bounds the count.
func (v *view) checkHeaders(count int64, c *cursor) error {
	if count < 0 || count > int64(len(c.rest)/2) {
		return errHeaders
	}
	v.headerCount = int(count)
	for range v.headerCount {
		if key := c.bytes(); key == nil {
			return errHeaders
		}
		c.bytes()
	}
	if c.bad || len(c.rest) > 0 {
		return errHeaders
	}
	return nil
}

// cursor reads the fields of one record; once bad it stays bad.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) skip() {
	if len(c.rest) == 0 {
		c.bad = true
		return
	}
	c.rest = c.rest[1:]
}

func (c *cursor) varint() int64 {
	x, n := varint(c.rest)
	if n == 0 {
		c.bad = true
		return 0
	}
	c.rest = c.rest[n:]
	return x
}

// bytes reads a field with a length; nil is null or a broken field.
func (c *cursor) bytes() []byte {
	size := c.varint()
	if size == -1 || c.bad {
		return nil
	}
	if size < 0 || size > int64(len(c.rest)) {
		c.bad = true
		return nil
	}
	field := c.rest[:size:size]
	c.rest = c.rest[size:]
	return field
}

// varint reads a zigzag varint of up to 10 bytes; n is 0 when there is none.
func varint(b []byte) (x int64, n int) {
	if len(b) > 0 && b[0] < 0x80 { // most are short
		u := uint64(b[0])
		return int64(u>>1) ^ -int64(u&1), 1
	}
	var u uint64
	for i := range min(len(b), 10) {
		u |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	return 0, 0
}
