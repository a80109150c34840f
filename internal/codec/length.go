package codec

import "encoding/binary"

// null is the length of what is not there.
const null = -1

// uvarint reads an unsigned LEB128 number of at most 32 bits.
func (c *Cursor) uvarint(name string) uint32 {
	var v uint32
	at := c.off
	for shift := 0; shift < 35; shift += 7 {
		b := c.take(name, 1)
		if b == nil {
			return 0
		}
		if shift == 28 && b[0] > 0x0f {
			break
		}
		v |= uint32(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return v
		}
	}
	c.fail(at, name, "varint is longer than 32 bits")
	return 0
}

// length reads the length before a string (2 bytes where not compact) or
// before bytes, records and arrays (4 bytes). It is never below -1, and never
// above the bytes left: whatever is counted takes at least one byte.
func (c *Cursor) length(name string, width int) int {
	n, at := 0, c.off
	if c.flexible {
		n = int(c.uvarint(name)) - 1
	} else if b := c.take(name, width); b == nil {
		return 0
	} else if width == 2 {
		n = int(int16(binary.BigEndian.Uint16(b)))
	} else {
		n = int(int32(binary.BigEndian.Uint32(b)))
	}
	switch {
	case c.err != nil:
		return 0
	case n < null:
		c.fail(at, name, "length %d is negative", n)
		return 0
	case n > c.left():
		c.fail(at, name, "length %d is more than the %d bytes left", n, c.left())
		return 0
	}
	return n
}

// putLength writes what length reads; n is -1 for null.
func (c *Cursor) putLength(n, width int) {
	switch {
	case c.flexible:
		c.buf = binary.AppendUvarint(c.buf, uint64(n+1))
	case width == 2:
		c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(n))
	default:
		c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(n))
	}
}
