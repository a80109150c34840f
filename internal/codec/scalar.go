package codec

import (
	"encoding/binary"
	"math"

	"kaasd/internal/kafka"
)

// Bool is one byte; everything but zero is true.
func (c *Cursor) Bool(name string, v *bool, about string) {
	switch c.mode {
	case encoding:
		c.buf = append(c.buf, bit(*v))
	case decoding:
		if b := c.take(name, 1); b != nil {
			*v = b[0] != 0
			if c.trace != nil {
				c.trace.leaf(c, 1, Node{Name: name, Type: "bool", Value: *v, About: about})
			}
		}
	default:
		c.declare(Field{Name: name, Type: "bool", About: about})
	}
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// Int8 is one byte.
func (c *Cursor) Int8(name string, v *int8, about string) {
	switch c.mode {
	case encoding:
		c.buf = append(c.buf, byte(*v))
	case decoding:
		if b := c.take(name, 1); b != nil {
			*v = int8(b[0])
			if c.trace != nil {
				c.trace.leaf(c, 1, Node{Name: name, Type: "int8", Value: *v, About: about})
			}
		}
	default:
		c.declare(Field{Name: name, Type: "int8", About: about})
	}
}

// Int16 is two bytes, the high one first, as in all that follow.
func (c *Cursor) Int16(name string, v *int16, about string) {
	switch c.mode {
	case encoding:
		c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(*v))
	case decoding:
		if b := c.take(name, 2); b != nil {
			*v = int16(binary.BigEndian.Uint16(b))
			if c.trace != nil {
				c.trace.leaf(c, 2, Node{Name: name, Type: "int16", Value: *v, About: about})
			}
		}
	default:
		c.declare(Field{Name: name, Type: "int16", About: about})
	}
}

// Uint16 is two bytes without a sign.
func (c *Cursor) Uint16(name string, v *uint16, about string) {
	switch c.mode {
	case encoding:
		c.buf = binary.BigEndian.AppendUint16(c.buf, *v)
	case decoding:
		if b := c.take(name, 2); b != nil {
			*v = binary.BigEndian.Uint16(b)
			if c.trace != nil {
				c.trace.leaf(c, 2, Node{Name: name, Type: "uint16", Value: *v, About: about})
			}
		}
	default:
		c.declare(Field{Name: name, Type: "uint16", About: about})
	}
}

// ErrorCode is an int16 whose meaning is told in the tree.
func (c *Cursor) ErrorCode(name string, v *kafka.Code, about string) {
	c.Int16(name, (*int16)(v), about)
	if c.trace != nil && c.err == nil && *v != kafka.NoError {
		c.trace.remark(v.String())
	}
}

// Int32 is four bytes.
func (c *Cursor) Int32(name string, v *int32, about string) {
	switch c.mode {
	case encoding:
		c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(*v))
	case decoding:
		if b := c.take(name, 4); b != nil {
			*v = int32(binary.BigEndian.Uint32(b))
			if c.trace != nil {
				c.trace.leaf(c, 4, Node{Name: name, Type: "int32", Value: *v, About: about})
			}
		}
	default:
		c.declare(Field{Name: name, Type: "int32", About: about})
	}
}

// Int64 is eight bytes.
func (c *Cursor) Int64(name string, v *int64, about string) {
	switch c.mode {
	case encoding:
		c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(*v))
	case decoding:
		if b := c.take(name, 8); b != nil {
			*v = int64(binary.BigEndian.Uint64(b))
			if c.trace != nil {
				c.trace.leaf(c, 8, Node{Name: name, Type: "int64", Value: *v, About: about})
			}
		}
	default:
		c.declare(Field{Name: name, Type: "int64", About: about})
	}
}

// Float64 is eight bytes of IEEE 754; every bit pattern passes.
func (c *Cursor) Float64(name string, v *float64, about string) {
	switch c.mode {
	case encoding:
		c.buf = binary.BigEndian.AppendUint64(c.buf, math.Float64bits(*v))
	case decoding:
		if b := c.take(name, 8); b != nil {
			*v = math.Float64frombits(binary.BigEndian.Uint64(b))
			if c.trace != nil {
				c.trace.leaf(c, 8, Node{Name: name, Type: "float64", Value: *v, About: about})
			}
		}
	default:
		c.declare(Field{Name: name, Type: "float64", About: about})
	}
}

// UUID is sixteen bytes.
func (c *Cursor) UUID(name string, v *kafka.TopicID, about string) {
	switch c.mode {
	case encoding:
		c.buf = append(c.buf, v[:]...)
	case decoding:
		if b := c.take(name, len(v)); b != nil {
			copy(v[:], b)
			if c.trace != nil {
				c.trace.leaf(c, len(v), Node{Name: name, Type: "uuid", Value: v.String(), About: about})
			}
		}
	default:
		c.declare(Field{Name: name, Type: "uuid", About: about})
	}
}
