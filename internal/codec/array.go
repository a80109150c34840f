package codec

import (
	"encoding/binary"
	"unsafe"
)

// Walker is a pointer to a struct that has fields.
type Walker[T any] interface {
	*T
	Message
}

// Array is an array of structs that may not be null. kind is the name of the
// struct in Kafka's schema.
func Array[T any, P Walker[T]](c *Cursor, name, kind string, v *[]T, about string) {
	NullArray[T, P](c, name, kind, never, v, about)
}

// NullArray is an array that may be null, which is nil, from version since
// on; below it nil encodes as empty.
//
// Decoding takes the capacity that the slice already has.
func NullArray[T any, P Walker[T]](c *Cursor, name, kind string, since int16, v *[]T, about string) {
	switch c.mode {
	case encoding:
		c.putCount(len(*v), *v == nil, since)
		for i := range *v {
			walk(c, P(&(*v)[i]))
			c.mayCut()
		}
	case decoding:
		decodeArray[T, P](c, name, kind, since, v, about)
	default:
		*v = make([]T, 1)
		outer := c.open(Field{Name: name, Type: "[]" + kind, About: about, nullable: c.Version >= since})
		walk(c, P(&(*v)[0]))
		c.close(outer)
	}
}

func decodeArray[T any, P Walker[T]](c *Cursor, name, kind string, since int16, v *[]T, about string) {
	var zero T
	at := c.off
	n := c.count(name, since, int(unsafe.Sizeof(zero)))
	if c.trace != nil && c.err == nil {
		c.trace.open(c, at, n, Node{Name: name, Type: "[]" + kind, About: about})
		defer c.trace.close(c)
	}
	if n == null || c.err != nil {
		*v = nil
		return
	}
	*v = grow(*v, n)
	c.push(name)
	for i := 0; i < n && c.err == nil; i++ {
		c.set(i)
		if c.trace != nil {
			c.trace.element(c, kind, i)
		}
		walk(c, P(&(*v)[i]))
		if c.trace != nil {
			c.trace.close(c)
		}
	}
	c.pop()
}

// Resetter is a message that keeps memory for the next one that is decoded
// into it.
type Resetter interface {
	// Reset forgets the values and keeps the arrays, and at most strings
	// that Fields overwrites in every version.
	Reset()
}

// grow gives n empty elements, in the array of s when it is large enough. The
// slice is never nil.
func grow[T any](s []T, n int) []T {
	if s == nil || n > cap(s) {
		return make([]T, n)
	}
	s = s[:n]
	if n == 0 {
		return s
	}
	if _, ok := any(&s[0]).(Resetter); !ok {
		clear(s)
		return s
	}
	for i := range s {
		any(&s[i]).(Resetter).Reset()
	}
	return s
}

// walk is one struct and its tag section.
func walk(c *Cursor, m Message) {
	outer := c.tags
	c.tags = tagSection{}
	m.Fields(c)
	c.endTags()
	c.tags = outer
}

// Struct is a struct that is there once.
func Struct[T any, P Walker[T]](c *Cursor, name, kind string, v *T, about string) {
	switch c.mode {
	case encoding:
		walk(c, P(v))
	case decoding:
		if c.trace != nil {
			c.trace.begin(c, Node{Name: name, Type: kind, About: about})
			defer c.trace.close(c)
		}
		c.push(name)
		walk(c, P(v))
		c.pop()
	default:
		outer := c.open(Field{Name: name, Type: kind, About: about})
		walk(c, P(v))
		c.close(outer)
	}
}

// NullStruct is a struct that may be null, which is nil: a byte before it says
// whether it is there.
func NullStruct[T any, P Walker[T]](c *Cursor, name, kind string, v **T, about string) {
	switch c.mode {
	case encoding:
		if *v == nil {
			c.buf = append(c.buf, absent)
			return
		}
		c.buf = append(c.buf, present)
		walk(c, P(*v))
	case decoding:
		decodeNullStruct[T, P](c, name, kind, v, about)
	default:
		*v = new(T)
		outer := c.open(Field{Name: name, Type: kind, About: about, nullable: true})
		walk(c, P(*v))
		c.close(outer)
	}
}

// What stands before a struct that may be null. Every number below zero is
// null and every other one is not; these two are written.
const (
	absent  = 0xff
	present = 1
)

func decodeNullStruct[T any, P Walker[T]](c *Cursor, name, kind string, v **T, about string) {
	at := c.off
	b := c.take(name, 1)
	if b == nil {
		return
	}
	isNull := int8(b[0]) < 0
	if c.trace != nil {
		node := c.trace.begin(c, Node{Name: name, Type: kind, About: about, Null: isNull})
		node.Offset = c.base + at
		c.trace.leaf(c, 1, Node{Name: "present", Type: "int8", Value: int8(b[0])})
		defer c.trace.close(c)
	}
	if isNull || !c.spend(at, name, int(unsafe.Sizeof(**v))) {
		*v = nil
		return
	}
	*v = new(T)
	c.push(name)
	walk(c, P(*v))
	c.pop()
}

// count reads the length of an array whose elements take size bytes of
// memory each.
func (c *Cursor) count(name string, since int16, size int) int {
	at := c.off
	n := c.length(name, 4)
	switch {
	case c.err != nil:
		return 0
	case n == null && c.Version < since:
		c.fail(at, name, "null where null is not allowed")
		return 0
	case n > 0 && !c.spend(at, name, n*size):
		return 0
	}
	return n
}

func (c *Cursor) putCount(n int, isNil bool, since int16) {
	if isNil && c.Version >= since {
		n = null
	}
	c.putLength(n, 4)
}

// Int32s is an array of int32 that may not be null.
func (c *Cursor) Int32s(name string, v *[]int32, about string) {
	c.NullInt32s(name, never, v, about)
}

// NullInt32s is an array of int32 that may be null, which is nil, from version
// since on.
func (c *Cursor) NullInt32s(name string, since int16, v *[]int32, about string) {
	switch c.mode {
	case encoding:
		c.putCount(len(*v), *v == nil, since)
		for _, x := range *v {
			c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(x))
		}
	case decoding:
		c.decodeInt32s(name, since, v, about)
	default:
		*v = make([]int32, 1)
		c.declare(Field{Name: name, Type: "[]int32", About: about, nullable: c.Version >= since})
	}
}

func (c *Cursor) decodeInt32s(name string, since int16, v *[]int32, about string) {
	at := c.off
	n := c.count(name, since, 4)
	b := c.take(name, 4*max(n, 0))
	if b == nil {
		return
	}
	if n == null {
		*v = nil
	} else {
		*v = grow(*v, n)
	}
	for i := range *v {
		(*v)[i] = int32(binary.BigEndian.Uint32(b[4*i:]))
	}
	if c.trace != nil {
		c.trace.int32s(c, at, n, *v, Node{Name: name, Type: "[]int32", About: about})
	}
}

// Int8s is an array of int8 that may not be null.
func (c *Cursor) Int8s(name string, v *[]int8, about string) {
	switch c.mode {
	case encoding:
		c.putCount(len(*v), false, never)
		for _, x := range *v {
			c.buf = append(c.buf, byte(x))
		}
	case decoding:
		c.decodeInt8s(name, v, about)
	default:
		*v = make([]int8, 1)
		c.declare(Field{Name: name, Type: "[]int8", About: about})
	}
}

func (c *Cursor) decodeInt8s(name string, v *[]int8, about string) {
	at := c.off
	n := c.count(name, never, 1)
	b := c.take(name, n)
	if b == nil {
		return
	}
	*v = grow(*v, n)
	for i := range *v {
		(*v)[i] = int8(b[i])
	}
	if c.trace != nil {
		c.trace.int8s(c, at, *v, Node{Name: name, Type: "[]int8", About: about})
	}
}

// Strings is an array of strings that may not be null.
func (c *Cursor) Strings(name string, v *[]string, about string) {
	c.NullStrings(name, never, v, about)
}

// NullStrings is an array of strings that may be null, which is nil, from
// version since on.
func (c *Cursor) NullStrings(name string, since int16, v *[]string, about string) {
	switch c.mode {
	case encoding:
		c.putCount(len(*v), *v == nil, since)
		for _, s := range *v {
			c.putString(name, s)
		}
	case decoding:
		c.decodeStrings(name, since, v, about)
	default:
		*v = make([]string, 1)
		c.declare(Field{Name: name, Type: "[]string", About: about, nullable: c.Version >= since})
	}
}

func (c *Cursor) decodeStrings(name string, since int16, v *[]string, about string) {
	at := c.off
	n := c.count(name, since, int(unsafe.Sizeof("")))
	if c.trace != nil && c.err == nil {
		c.trace.open(c, at, n, Node{Name: name, Type: "[]string", About: about})
		defer c.trace.close(c)
	}
	if n == null || c.err != nil {
		*v = nil
		return
	}
	*v = grow(*v, n)
	c.push(name)
	for i := 0; i < n && c.err == nil; i++ {
		c.set(i)
		c.stringElement(name, &(*v)[i], i)
	}
	c.pop()
}

func (c *Cursor) stringElement(name string, v *string, i int) {
	at := c.off
	b := c.takeString("", never)
	if b == nil || !c.spend(at, "", len(b)) {
		return
	}
	*v = string(b)
	if c.trace != nil {
		c.trace.text(c, at, b, Node{Name: elementName(name, i), Type: "string"})
	}
}
