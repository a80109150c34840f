package codec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Node is one line of the tree that a trace makes of a decoded message.
type Node struct {
	Name  string
	Type  string
	Value any    // nil for null, and for a struct
	Null  bool   // the value is null
	Note  string // how the value is written, or what it means
	About string // one line about the field

	Offset int // in bytes, from the start of the frame
	Size   int // in bytes

	Children []*Node
}

// Count is the value of an array: its elements.
type Count int

// Raw is the value of a records field: its bytes, unopened.
type Raw []byte

// Trace decodes like Decode, without a limit, and gives the tree as far as it
// got. base is the offset of the body in its frame. The root is for the caller
// to name; it ends where the body does.
func Trace(body []byte, base int, version int16, flexible bool, m Message) (*Node, error) {
	c := newCursor(decoding, version, flexible)
	defer c.free()
	c.buf, c.base, c.budget = body, base, 1<<40
	root := &Node{Offset: base}
	c.trace = &trace{stack: []*Node{root}}
	walk(c, m)
	root.Size = c.off
	return root, c.failure()
}

// trace is the tree under construction; the last of the stack is the parent
// of the next node.
type trace struct {
	stack []*Node
	last  *Node
}

func (t *trace) add(n Node) *Node {
	node := &n
	parent := t.stack[len(t.stack)-1]
	parent.Children = append(parent.Children, node)
	t.last = node
	return node
}

// leaf adds a field whose size bytes have just been read.
func (t *trace) leaf(c *Cursor, size int, n Node) {
	n.Offset, n.Size = c.base+c.off-size, size
	t.add(n)
}

// remark says what the last field's value means.
func (t *trace) remark(note string) { t.last.Note = note }

// begin adds a node whose children follow; close ends it.
func (t *trace) begin(c *Cursor, n Node) *Node {
	n.Offset = c.base + c.off
	node := t.add(n)
	t.stack = append(t.stack, node)
	return node
}

func (t *trace) close(c *Cursor) {
	node := t.stack[len(t.stack)-1]
	node.Size = c.base + c.off - node.Offset
	t.stack = t.stack[:len(t.stack)-1]
}

// open begins an array whose length has just been read, from at on.
func (t *trace) open(c *Cursor, at, n int, node Node) {
	node.Value, node.Null = Count(n), n == null
	size := c.off - at
	opened := t.begin(c, node)
	opened.Offset = c.base + at
	t.length(c, at, n, size)
}

// length adds the length before an array or records, which took size bytes: a
// varint may be longer than it needs to be.
func (t *trace) length(c *Cursor, at, n, size int) {
	node := Node{Name: "length", Type: "int32", Value: n, Offset: c.base + at, Size: size}
	if c.flexible {
		node.Type, node.Value, node.Note = "uvarint", n+1, "compact, n+1"
	}
	t.add(node)
}

func (t *trace) element(c *Cursor, kind string, i int) {
	t.begin(c, Node{Name: elementName(kind, i), Type: "struct"})
}

func elementName(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

// text adds a string that was read from at on.
func (t *trace) text(c *Cursor, at int, b []byte, node Node) {
	node.Value, node.Null = string(b), b == nil
	node.Note = lengthNote(c, len(b), b == nil)
	node.Offset, node.Size = c.base+at, c.off-at
	t.add(node)
}

func lengthNote(c *Cursor, n int, isNull bool) string {
	if isNull {
		n = null
	}
	if c.flexible {
		return fmt.Sprintf("compact, len+1=%d", n+1)
	}
	return fmt.Sprintf("len=%d", n)
}

// blob adds a byte array.
func (t *trace) blob(c *Cursor, at int, b []byte, node Node) {
	node.Value, node.Note = b, lengthNote(c, len(b), false)
	node.Offset, node.Size = c.base+at, c.off-at
	t.add(node)
}

// records adds a records field; what is in it is not this package's.
func (t *trace) records(c *Cursor, at int, b []byte, node Node) {
	node.Value, node.Null = Raw(b), b == nil
	n := len(b)
	if b == nil {
		n = null
	}
	opened := t.begin(c, node)
	opened.Offset = c.base + at
	t.length(c, at, n, c.off-at-len(b))
	t.close(c)
}

func (t *trace) int32s(c *Cursor, at, n int, v []int32, node Node) {
	numbers(t, c, at, n, 4, v, "int32", node)
}

func (t *trace) int8s(c *Cursor, at int, v []int8, node Node) {
	numbers(t, c, at, len(v), 1, v, "int8", node)
}

// numbers adds an array of n numbers of size bytes each.
func numbers[T any](t *trace, c *Cursor, at, n, size int, v []T, kind string, node Node) {
	opened := t.begin(c, node)
	opened.Offset, opened.Value, opened.Null = c.base+at, Count(n), n == null
	t.length(c, at, n, c.off-at-size*len(v))
	for i, x := range v {
		t.add(Node{Name: elementName(node.Name, i), Type: kind, Value: x, Offset: c.base + c.off - size*(len(v)-i), Size: size})
	}
	t.close(c)
}

// tags adds a section that runs from start to the cursor.
func (t *trace) tags(c *Cursor, start, count int) *Node {
	return t.add(Node{
		Name: "tagged_fields", Type: "uvarint", Value: count, About: "fields that are there only when set",
		Offset: c.base + start, Size: c.off - start,
	})
}

// tag begins one entry inside its section.
func (t *trace) tag(c *Cursor, e tagEntry) {
	section := c.tags.node
	node := tagNode(c, e)
	section.Children = append(section.Children, node)
	t.stack = append(t.stack, node)
}

func (t *trace) endTag() { t.stack = t.stack[:len(t.stack)-1] }

func tagNode(c *Cursor, e tagEntry) *Node {
	return &Node{
		Name: fmt.Sprintf("tag %d", e.number), Type: "tag", Value: e.number,
		Note:   fmt.Sprintf("%d bytes", e.size),
		Offset: c.base + e.start, Size: e.at + e.size - e.start,
	}
}

// unknownTags adds the entries that the message did not ask for.
func (t *trace) unknownTags(c *Cursor) {
	if c.err != nil {
		return
	}
	section := c.tags.node
	for e := range c.entries {
		at := c.base + e.start
		if slices.ContainsFunc(section.Children, func(n *Node) bool { return n.Offset == at }) {
			continue
		}
		node := tagNode(c, e)
		node.Children = []*Node{{
			Name: "unknown", Type: "bytes", Value: c.buf[e.at : e.at+e.size],
			About:  "a tag this version of the message does not name",
			Offset: c.base + e.at, Size: e.size,
		}}
		section.Children = append(section.Children, node)
	}
	slices.SortFunc(section.Children, func(a, b *Node) int { return cmp.Compare(a.Offset, b.Offset) })
}
