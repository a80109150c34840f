package codec

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Message is a request, a response or a part of one.
type Message interface {
	// Fields names every field of the version c.Version, in wire order,
	// tagged fields last.
	Fields(c *Cursor)
}

type mode uint8

const (
	decoding mode = iota
	encoding
	shaping
)

// maxDepth is how deep arrays and structs nest in the deepest message; a
// deeper one only loses the end of its error paths.
const maxDepth = 8

// Cursor is one walk over one message. A message reads Version and calls the
// verbs; everything else is the cursor's.
type Cursor struct {
	Version int16

	mode     mode
	flexible bool // compact lengths and tag sections (KIP-482)

	buf    []byte // decoding: the input; encoding: the output
	off    int    // decoding: the next byte of buf
	base   int    // what offsets in errors and traces count from
	budget int    // bytes of memory that decoding may still make
	err    *Error
	tags   tagSection
	parts  []part // encoding: records that are streamed
	pieces pieces // encoding: how it is cut
	trace  *trace
	schema *schema
	batch  []byte // shaping: what goes into records fields
	path   [maxDepth]step
	depth  int

	request  RequestHeader // here, so that a header costs no allocation
	response ResponseHeader
}

// step is one name of the path to a field; index is negative outside arrays.
type step struct {
	name  string
	index int
}

var cursors = sync.Pool{New: func() any { return new(Cursor) }}

func newCursor(m mode, version int16, flexible bool) *Cursor {
	c := cursors.Get().(*Cursor)
	c.mode, c.Version, c.flexible = m, version, flexible
	return c
}

// free gives the cursor back; what it has pointed to is the caller's.
func (c *Cursor) free() {
	*c = Cursor{}
	cursors.Put(c)
}

// failure is the sticky error as an error value.
func (c *Cursor) failure() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// fail keeps the first error, at the offset of the field it belongs to.
func (c *Cursor) fail(at int, name, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Offset: c.base + at, Field: c.pathTo(name), Reason: fmt.Sprintf(format, args...)}
	}
}

func (c *Cursor) pathTo(name string) string {
	var b strings.Builder
	for _, s := range c.path[:min(c.depth, maxDepth)] {
		b.WriteString(s.name)
		if s.index >= 0 {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
		b.WriteByte('.')
	}
	b.WriteString(name)
	return strings.TrimSuffix(b.String(), ".")
}

// push and pop keep the path; set moves its last step on.
func (c *Cursor) push(name string) {
	if c.depth < maxDepth {
		c.path[c.depth] = step{name, -1}
	}
	c.depth++
}

func (c *Cursor) set(index int) {
	if c.depth <= maxDepth {
		c.path[c.depth-1].index = index
	}
}

func (c *Cursor) pop() { c.depth-- }

func (c *Cursor) left() int { return len(c.buf) - c.off }

// take gives the next n bytes of the input, or nil once there is an error.
func (c *Cursor) take(name string, n int) []byte {
	if c.err != nil {
		return nil
	}
	if n > c.left() {
		c.fail(c.off, name, "%d bytes are needed, %d are left", n, c.left())
		return nil
	}
	b := c.buf[c.off : c.off+n : c.off+n]
	c.off += n
	return b
}

// spend takes n bytes of memory from the budget.
func (c *Cursor) spend(at int, name string, n int) bool {
	if n > c.budget {
		c.fail(at, name, "decoding would take more memory than a frame of this kind may")
		return false
	}
	c.budget -= n
	return true
}

// Default gives a field that the version lacks, or a tag that is not there,
// the schema's default. Encoding never writes into a message.
func Default[T any](c *Cursor, v *T, value T) {
	if c.mode != encoding {
		*v = value
	}
}
