package codec

import "slices"

// Field is one field of a message over all its versions.
type Field struct {
	Name     string
	Type     string
	About    string
	Tag      int     // number of the tag, -1 when it is never tagged
	Versions []int16 // that have the field, rising
	Nullable []int16 // that allow null
	Tagged   []int16 // that have it as a tagged field
	Fields   []*Field

	nullable bool // in the version walked
}

// Describe walks a message in each of its versions, the highest first, and
// joins what it finds: a field that newer versions replaced stands before what
// replaced it. Versions from flexible on have tag sections.
func Describe(lowest, highest, flexible int16, message func() Message) []*Field {
	root := new(Field)
	for v := highest; v >= lowest; v-- {
		c := newCursor(shaping, v, v >= flexible)
		c.schema = &schema{level: root, tagged: -1}
		walk(c, message())
		c.free()
	}
	return root.Fields
}

// Fill makes m the smallest instance of its kind: one element in every array,
// batch in every records field, nothing null, no tags.
func Fill(version int16, flexible bool, batch []byte, m Message) {
	c := newCursor(shaping, version, flexible)
	defer c.free()
	c.batch = batch
	walk(c, m)
}

// schema is where a walk stands in the description. A nil schema describes
// nothing.
type schema struct {
	level  *Field // whose fields are named now
	next   int    // where a field that is new goes, among level.Fields
	tagged int    // number of the open tag, or -1
}

// place is what open left, for close.
type place struct {
	level *Field
	next  int
}

// declare notes a field of the version walked.
func (c *Cursor) declare(f Field) *Field {
	s := c.schema
	if s == nil {
		return nil
	}
	fields := &s.level.Fields
	at := slices.IndexFunc(*fields, func(known *Field) bool { return known.Name == f.Name })
	if at < 0 {
		at = s.next
		f.Tag = -1
		*fields = slices.Insert(*fields, at, &f)
	}
	known := (*fields)[at]
	known.note(c.Version, f.nullable, s.tagged)
	s.next, s.tagged = at+1, -1
	return known
}

func (f *Field) note(version int16, nullable bool, tag int) {
	f.Versions = slices.Insert(f.Versions, 0, version)
	if nullable {
		f.Nullable = slices.Insert(f.Nullable, 0, version)
	}
	if tag >= 0 {
		f.Tag = tag
		f.Tagged = slices.Insert(f.Tagged, 0, version)
	}
}

// open declares a field whose own fields follow.
func (c *Cursor) open(f Field) place {
	known := c.declare(f)
	if known == nil {
		return place{}
	}
	outer := place{c.schema.level, c.schema.next}
	c.schema.level, c.schema.next = known, 0
	return outer
}

func (c *Cursor) close(outer place) {
	if c.schema != nil {
		c.schema.level, c.schema.next = outer.level, outer.next
	}
}

// tag makes the next field a tagged one. The smallest instance has none.
func (s *schema) tag(number uint32) bool {
	if s == nil {
		return false
	}
	s.tagged = int(number)
	return true
}
