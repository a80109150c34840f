package codec

import "math"

// never is a version that no message reaches.
const never = math.MaxInt16

// String is a string that may not be null. A field that holds the very text
// already, in a message that is used again, costs no memory.
func (c *Cursor) String(name string, v *string, about string) {
	switch c.mode {
	case encoding:
		c.putString(name, *v)
	case decoding:
		at := c.off
		if b := c.takeString(name, never); b != nil && c.spend(at, name, len(b)) {
			setString(v, b)
			c.traceText(at, name, b, about)
		}
	default:
		c.declare(Field{Name: name, Type: "string", About: about})
	}
}

// setString keeps the string that a message decoded before it had already.
func setString(v *string, b []byte) {
	if *v != string(b) {
		*v = string(b)
	}
}

// NullString is a string that may be null from version since on; below it
// nil encodes as empty.
func (c *Cursor) NullString(name string, since int16, v **string, about string) {
	switch c.mode {
	case encoding:
		c.putNullString(name, since, *v)
	case decoding:
		at := c.off
		b := c.takeString(name, since)
		*v = nil
		if b != nil && c.spend(at, name, len(b)+16) {
			s := string(b)
			*v = &s
		}
		c.traceText(at, name, b, about)
	default:
		*v = new(string)
		c.declare(Field{Name: name, Type: "string", About: about, nullable: c.Version >= since})
	}
}

// optionalString is a string that may be null, where null and empty mean the
// same.
func (c *Cursor) optionalString(name string, v *string, has *bool, about string) {
	switch c.mode {
	case encoding:
		if *has || *v != "" {
			c.putString(name, *v)
		} else {
			c.putLength(null, 2)
		}
	case decoding:
		at := c.off
		b := c.takeString(name, 0)
		*v, *has = string(b), b != nil
		c.traceText(at, name, b, about)
	default:
		*has = true
	}
}

// takeString gives the bytes of a string: nil when it is null or there is an
// error.
func (c *Cursor) takeString(name string, since int16) []byte {
	at := c.off
	n := c.length(name, 2)
	switch {
	case c.err != nil:
		return nil
	case n == null && c.Version < since:
		c.fail(at, name, "null where null is not allowed")
		return nil
	case n == null:
		return nil
	case n > math.MaxInt16:
		c.fail(at, name, "string of %d bytes is longer than %d", n, math.MaxInt16)
		return nil
	}
	return c.take(name, n)
}

func (c *Cursor) putString(name, s string) {
	if len(s) > math.MaxInt16 {
		c.fail(len(c.buf), name, "string of %d bytes is longer than %d", len(s), math.MaxInt16)
		s = ""
	}
	c.putLength(len(s), 2)
	c.buf = append(c.buf, s...)
}

func (c *Cursor) putNullString(name string, since int16, s *string) {
	switch {
	case s != nil:
		c.putString(name, *s)
	case c.Version >= since:
		c.putLength(null, 2)
	default:
		c.putLength(0, 2)
	}
}

func (c *Cursor) traceText(at int, name string, b []byte, about string) {
	if c.trace != nil && c.err == nil {
		c.trace.text(c, at, b, Node{Name: name, Type: "string", About: about})
	}
}

// Bytes is a byte array that may not be null. Decoded, it is a slice of the
// frame.
func (c *Cursor) Bytes(name string, v *[]byte, about string) {
	switch c.mode {
	case encoding:
		c.putLength(len(*v), 4)
		c.putBytes(*v)
	case decoding:
		at := c.off
		n := c.length(name, 4)
		if n == null {
			c.fail(at, name, "null where null is not allowed")
			return
		}
		*v = c.take(name, n)
		if c.trace != nil && c.err == nil {
			c.trace.blob(c, at, *v, Node{Name: name, Type: "bytes", About: about})
		}
	default:
		c.declare(Field{Name: name, Type: "bytes", About: about})
	}
}
