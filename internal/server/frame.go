package server

import (
	"math/bits"
	"sync"

	"kaasd/internal/kafka"
)

const (
	smallFrame  = 4 << 10 // bytes; up to here a frame is not counted, but for what it is decoded to
	largestPool = 1 << 20 // bytes; buffers above are dropped after use
)

// buffer is pooled memory of one size class.
type buffer struct{ bytes []byte }

// buffers holds a pool per size class, 4 KiB to 1 MiB by powers of two.
var buffers [9]sync.Pool

// class is the size class of n bytes, which are at most largestPool.
func class(n int) int {
	return max(bits.Len(uint(max(n, 1)-1))-12, 0)
}

// capacity is how many bytes a buffer for n bytes really has.
func capacity(n int) int {
	if n > largestPool {
		return n
	}
	return smallFrame << class(n)
}

// newBuffer borrows a buffer of capacity(n) bytes; its content is undefined.
func newBuffer(n int) *buffer {
	if n > largestPool {
		return &buffer{bytes: make([]byte, n)}
	}
	if b, ok := buffers[class(n)].Get().(*buffer); ok {
		return b
	}
	return &buffer{bytes: make([]byte, capacity(n))}
}

func (b *buffer) free() {
	if b != nil && len(b.bytes) <= largestPool {
		buffers[class(len(b.bytes))].Put(b)
	}
}

// frame is the memory of one request in progress that does not lie in the
// connection's own read buffer.
type frame struct {
	memory *memory
	buffer *buffer
	loan   loan
	weight int64 // bytes of the loan for one of the frame
}

// decodedWeight is what a frame takes, in times its bytes, that is decoded to a message,
// and that to an answer: names of a few bytes become some hundred each.
const decodedWeight = 16

// weightOf is how often a frame counts, by its first bytes. Records are used where they
// lie, and so are the tokens of log-ins.
func weightOf(head []byte) int64 {
	switch keyOf(head) {
	case kafka.KeyProduce, kafka.KeySASLAuthenticate:
		return 1
	}
	return decodedWeight
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// newFrame is one of a session that begins with these bytes.
func (c *conn) newFrame(session Session, head []byte) *frame {
	f := frames.Get().(*frame)
	f.memory, f.weight, f.loan.owner = c.server.memory.of(session, head), weightOf(head), c.owner(session)
	return f
}

// owner is whose the frames of the connection are.
func (c *conn) owner(session Session) owner {
	if name := session.Name(); name != "" {
		return owner{name: name}
	}
	return owner{network: networkOf(c.socket.RemoteAddr())}
}

// grow moves the first have bytes into a buffer for n bytes.
func (f *frame) grow(have, n int) {
	next := newBuffer(n)
	if f.buffer != nil {
		copy(next.bytes, f.buffer.bytes[:have])
		f.buffer.free()
	}
	f.buffer = next
}

// lender is the pool that the frame holds memory of; nil: it holds none.
func (f *frame) lender() *memory {
	if f == nil || f.loan.held == 0 {
		return nil
	}
	return f.memory
}

// empty gives back what the frame holds; nil holds nothing, and neither does it
// afterwards.
func (f *frame) empty() {
	if f == nil {
		return
	}
	f.buffer.free()
	f.buffer = nil
	f.memory.give(&f.loan)
}

// keep gives back what the frame holds above so many bytes; nil holds nothing.
func (f *frame) keep(bytes int64) {
	if f == nil {
		return
	}
	f.buffer.free()
	f.buffer = nil
	f.memory.shrink(&f.loan, bytes)
}

// free empties the frame and gives it back itself.
func (f *frame) free() {
	if f == nil {
		return
	}
	f.empty()
	*f = frame{}
	frames.Put(f)
}

// step is the capacity a frame of size bytes needs next when have of them
// have arrived: a quarter of it, or half of it above 1 MiB, is really there. The
// first 256 KiB are taken in advance, unless memory is tight.
func step(have, size int, tight bool) int {
	switch {
	case have < piece && tight:
		return capacity(min(size, max(4*have, smallFrame), piece))
	case have < piece:
		return capacity(min(size, piece))
	case have < largestPool:
		return capacity(min(size, 4*have, largestPool))
	}
	return capacity(min(size, 2*have))
}
