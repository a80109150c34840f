package codec

import "io"

// Records is the records field of a message.
type Records struct {
	// Bytes is what was decoded, a slice of the frame whose capacity ends
	// with it: nil for null. Encoding copies it into the frame.
	Bytes []byte
	// Source, when set, is what encoding streams instead. The frame releases
	// it.
	Source RecordSource
}

// RecordSource is record bytes that are read only when the frame is written.
type RecordSource interface {
	Size() int // bytes WriteTo will write
	io.WriterTo
	Release() // once
}

// size is -1 for null.
func (r *Records) size() int {
	switch {
	case r.Source != nil:
		return r.Source.Size()
	case r.Bytes == nil:
		return null
	}
	return len(r.Bytes)
}

// Records is record bytes as an answer holds them: none encode as empty,
// never as null, which some clients take for a damaged answer (KAFKA-18646).
func (c *Cursor) Records(name string, r *Records, about string) {
	c.records(name, r, max(r.size(), 0), about)
}

// NullRecords is record bytes as a request holds them: nil encodes as null.
func (c *Cursor) NullRecords(name string, r *Records, about string) {
	c.records(name, r, r.size(), about)
}

func (c *Cursor) records(name string, r *Records, size int, about string) {
	switch c.mode {
	case encoding:
		c.putLength(size, 4)
		c.buf = append(c.buf, r.Bytes...)
		if r.Source != nil {
			if c.pieces.most > 0 {
				c.fail(len(c.buf), name, "a source of records in an answer that may be cut")
			}
			c.parts = append(c.parts, part{at: len(c.buf), source: r.Source})
		}
	case decoding:
		at := c.off
		r.Bytes, r.Source = nil, nil
		if n := c.length(name, 4); n != null {
			r.Bytes = c.take(name, n)
		}
		if c.trace != nil && c.err == nil {
			c.trace.records(c, at, r.Bytes, Node{Name: name, Type: "records", About: about})
		}
	default:
		r.Bytes = c.batch
		c.declare(Field{Name: name, Type: "records", About: about, nullable: true})
	}
}
