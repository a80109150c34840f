package codec

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// tagSection is where the walk of one struct stands with its tagged fields.
type tagSection struct {
	opened bool
	at     int    // encoding: the count's byte; decoding: the first entry
	end    int    // decoding: the byte after the section
	count  int    // entries
	sizeAt int    // encoding: the size's byte of the open tag
	whole  []byte // decoding: the input while buf ends with the open tag
	node   *Node  // tracing: the section
}

// Tag begins a tagged field and says whether it is there: while encoding when
// present is true, while decoding when the bytes hold it. The verb of the
// field and EndTag follow inside the if:
//
//	if c.Version >= 15 && c.Tag(1, m.ReplicaState != nil) {
//		codec.Struct(c, "ReplicaState", ...)
//		c.EndTag()
//	}
//
// A field that equals its default is not present. Tags come last in Fields,
// in rising order.
func (c *Cursor) Tag(number uint32, present bool) bool {
	if !c.flexible {
		return false
	}
	switch c.mode {
	case encoding:
		if present {
			c.beginTag(number)
		}
		return present
	case decoding:
		c.openTags()
		return c.findTag(number)
	}
	return c.schema.tag(number)
}

// EndTag ends what Tag began.
func (c *Cursor) EndTag() {
	switch c.mode {
	case encoding:
		c.patchSize()
	case decoding:
		if c.trace != nil {
			c.trace.endTag()
		}
		c.buf, c.off = c.tags.whole, c.tags.end
	}
}

// endTags ends a struct, whether or not it has named tags.
func (c *Cursor) endTags() {
	if !c.flexible {
		return
	}
	switch c.mode {
	case encoding:
		if !c.tags.opened {
			c.buf = append(c.buf, 0)
		}
	case decoding:
		c.openTags()
		if c.trace != nil && c.tags.node != nil {
			c.trace.unknownTags(c)
		}
	}
}

// beginTag writes the tag's number and leaves one byte for its size. No
// message has more than 127 tags, so that the count is one byte too.
func (c *Cursor) beginTag(number uint32) {
	if !c.tags.opened {
		c.tags.opened, c.tags.at = true, len(c.buf)
		c.buf = append(c.buf, 0)
	}
	c.pieces.tags++
	c.buf[c.tags.at]++
	c.buf = binary.AppendUvarint(c.buf, uint64(number))
	c.tags.sizeAt = len(c.buf)
	c.buf = append(c.buf, 0)
}

// patchSize writes the size of the open tag, and moves the tag when the size
// takes more than the byte left for it.
func (c *Cursor) patchSize() {
	c.pieces.tags--
	at := c.tags.sizeAt
	size := len(c.buf) - at - 1
	if size < 0x80 {
		c.buf[at] = byte(size)
		return
	}
	var b [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(b[:], uint64(size))
	c.buf = slices.Replace(c.buf, at, at+1, b[:n]...)
}

// openTags runs over the whole section once, so that it ends inside the bytes
// before any tag is looked at. The loop ends with the bytes: every entry takes
// two of them.
func (c *Cursor) openTags() {
	t := &c.tags
	if t.opened || c.err != nil {
		return
	}
	t.opened = true
	start := c.off
	count := c.uvarint("tagged_fields")
	t.at, t.count = c.off, int(count)
	if t.count > c.left()/2 {
		c.fail(start, "tagged_fields", "%d tags are more than the %d bytes left", count, c.left())
		return
	}
	for range t.count {
		c.uvarint("tag")
		at := c.off
		size := c.uvarint("size")
		if int64(size) > int64(c.left()) {
			c.fail(at, "tagged_fields", "tag of %d bytes is more than the %d bytes left", size, c.left())
		}
		if c.err != nil {
			return
		}
		c.off += int(size)
	}
	t.end = c.off
	if c.trace != nil {
		t.node = c.trace.tags(c, start, t.count)
	}
}

// tagEntry is one entry of a section.
type tagEntry struct {
	number          uint32
	start, at, size int // of the entry, of its bytes, and how many
}

// entries yields what openTags has checked.
func (c *Cursor) entries(yield func(tagEntry) bool) {
	off := c.tags.at
	for range c.tags.count {
		number, n := binary.Uvarint(c.buf[off:])
		size, m := binary.Uvarint(c.buf[off+n:])
		e := tagEntry{uint32(number), off, off + n + m, int(size)}
		if !yield(e) {
			return
		}
		off = e.at + e.size
	}
}

// findTag narrows the input to the bytes of a tag.
func (c *Cursor) findTag(number uint32) bool {
	if c.err != nil || c.tags.count == 0 {
		return false
	}
	for e := range c.entries {
		if e.number != number {
			continue
		}
		c.tags.whole = c.buf
		c.buf, c.off = c.buf[:e.at+e.size], e.at
		if c.trace != nil {
			c.trace.tag(c, e)
		}
		return true
	}
	return false
}

// Make gives the pointer behind a tagged field that is nil when absent, and
// makes what it points to unless encoding.
func Make[T any](c *Cursor, v **T) *T {
	switch c.mode {
	case decoding:
		c.spend(c.off, "tag", int(unsafe.Sizeof(**v)))
		*v = new(T)
	case shaping:
		*v = new(T)
	}
	return *v
}
