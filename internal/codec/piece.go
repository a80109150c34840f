package codec

import "io"

const (
	// wholeBytes is how long an answer may get before it is encoded in pieces.
	wholeBytes = 256 << 10
	// pieceBytes is how much of a longer one is in memory at a time.
	pieceBytes = 64 << 10
)

// answer is what a frame is encoded from.
type answer struct {
	header         ResponseHeader
	headerFlexible bool
	version        int16
	flexible       bool
	message        Message
}

// walkAnswer writes the whole answer, with room for the size before it.
func (c *Cursor) walkAnswer(a *answer) {
	c.buf = append(c.buf, 0, 0, 0, 0)
	c.Version, c.flexible = headerVersion(a.headerFlexible, 0), false
	walk(c, &a.header)
	c.Version, c.flexible = a.version, a.flexible
	walk(c, a.message)
}

// pieces is how an encoding goes on that is cut. The zero value cuts nothing.
type pieces struct {
	most int       // bytes of the buffer from which on it is cut; 0: never
	gone int       // bytes that were cut off
	to   io.Writer // where they go; nil: they are counted
	size int       // of the frame, for its prefix, where they go somewhere
	err  error     // of to
	tags int       // open tags: their size is written when they end, so nothing may be gone
}

// cutting says whether the buffer may be cut here.
func (c *Cursor) cutting() bool {
	return c.pieces.most > 0 && c.pieces.tags == 0 && len(c.parts) == 0
}

// mayCut cuts the buffer once it is long. It is called between elements.
func (c *Cursor) mayCut() {
	if c.cutting() && len(c.buf) >= c.pieces.most {
		c.cut(c.buf)
		c.buf = c.buf[:0]
	}
}

// cut sends bytes on their way, or counts them.
func (c *Cursor) cut(b []byte) {
	p := &c.pieces
	if p.to != nil && p.err == nil && len(b) > 0 {
		if p.gone == 0 {
			putSize(b, p.size)
		}
		_, p.err = p.to.Write(b)
	}
	p.gone += len(b)
	p.most = pieceBytes
}

// putBytes appends bytes, or has long ones pass by the buffer.
func (c *Cursor) putBytes(b []byte) {
	if len(b) < pieceBytes || !c.cutting() {
		c.buf = append(c.buf, b...)
		return
	}
	c.cut(c.buf)
	c.buf = c.buf[:0]
	c.cut(b)
}

// sizeBytes is the length of the size before each frame.
const sizeBytes = 4

// writePieces encodes the answer a second time, onto w.
func (f *Frame) writePieces(w io.Writer) (int64, error) {
	c := newCursor(encoding, 0, false)
	defer c.free()
	c.buf, c.pieces = f.head[:0], pieces{most: pieceBytes, to: w, size: f.size}
	c.walkAnswer(&f.answer)
	c.cut(c.buf)
	f.head = c.buf
	switch p := &c.pieces; {
	case p.err != nil:
		return int64(p.gone), p.err
	case c.err != nil:
		return int64(p.gone), c.err
	case p.gone != f.size:
		return int64(p.gone), io.ErrShortWrite
	default:
		return int64(p.gone), nil
	}
}
