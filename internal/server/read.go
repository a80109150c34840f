package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// The least a frame above 4 KiB must gain in a window.
const (
	paceWindow = 10 * time.Second
	paceBytes  = 160 << 10
)

// A frame that holds memory which others wait for must gain its part of finished
// in each hurried, paceBytes at the most and at the least what paceWindow asks for:
// clients wait 30 s for an answer (request.timeout.ms), so one that is slower has
// no use for it. A frame of 1 MiB may come at 35 KiB/s.
const (
	finished   = 30 * time.Second
	leastHurry = paceBytes * int(hurried) / int(paceWindow)

	hurryEvery = 25 * time.Millisecond  // how often such are looked for while somebody waits
	smallTime  = 100 * time.Millisecond // how long a small frame may take to arrive that holds memory
	takenIn    = time.Second            // how long a peer may take for a piece of an answer (heldStep) while others wait
)

// hurryBytes is what a frame of the size must gain in each hurried.
func hurryBytes(size int) int {
	return min(max(size/int(finished/hurried), leastHurry), paceBytes)
}

// sizeBytes is the length of the size before each frame.
const sizeBytes = 4

// headBytes is how much of a frame is there before it is admitted: what the read
// buffer has room for. Less would depend on how the peer cuts its bytes.
const headBytes = restBytes - sizeBytes

var (
	errIdle  = errors.New("idle for too long")
	errLogin = errors.New("not logged in within the time")
	errDue   = errors.New("a read has taken too long")

	errLingering = errors.New("an answer was taken too slowly, and others were waiting for the memory of its request")
)

// badFrame is what is wrong with bytes that make no frame.
type badFrame struct{ cause error }

func (e *badFrame) Error() string { return e.cause.Error() }
func (e *badFrame) Unwrap() error { return e.cause }

func badFramef(format string, args ...any) error {
	return &badFrame{fmt.Errorf(format, args...)}
}

// next reads one frame. Its bytes lie in the read buffer, or in memory of the
// frame that comes with them.
func (c *conn) next(session Session) ([]byte, *frame, error) {
	switch {
	case c.stopping():
		return nil, nil, errStopping
	case c.ending.Load():
		return nil, nil, errEnded
	}
	limit, late := c.patience(session)
	c.until(limit)
	size, err := c.size(session)
	if err != nil {
		return nil, nil, c.whyEnded(err, late)
	}
	bytes, f, err := c.body(session, size, limit)
	if err != nil {
		f.free()
		return nil, nil, c.whyEnded(err, late)
	}
	return bytes, f, nil
}

// patience is until when the next frame must be there, and what is wrong if
// it is not.
func (c *conn) patience(session Session) (time.Time, error) {
	limit := c.active.Add(c.server.options.IdleTimeout)
	if c.server.options.IdleTimeout == 0 {
		limit = c.active.Add(time.Hour * 24 * 365 * 10)
	}
	if !session.Established() {
		if login := c.accepted.Add(c.server.options.LoginTimeout); login.Before(limit) {
			return login, errLogin
		}
	}
	return limit, errIdle
}

// whyEnded names the end of a read.
func (c *conn) whyEnded(err, late error) error {
	begun := c.end > c.first
	switch {
	case errors.Is(err, errDue) && begun:
		return &badFrame{fmt.Errorf("a frame was begun and not finished: %w", late)}
	case errors.Is(err, errDue):
		return late
	case errors.Is(err, io.EOF) && begun:
		return &badFrame{io.ErrUnexpectedEOF}
	}
	return err
}

// size reads and judges the size of the next frame, with the head of the
// frame as far as it names the request.
func (c *conn) size(session Session) (int, error) {
	if err := c.need(sizeBytes); err != nil {
		return 0, err
	}
	size := int(int32(binary.BigEndian.Uint32(c.rest[c.first:])))
	if err := c.judge(session, size); err != nil {
		return 0, err
	}
	if err := c.need(sizeBytes + min(size, headBytes)); err != nil {
		return 0, err
	}
	head := c.rest[c.first+sizeBytes:][:min(size, headBytes)]
	mute, err := session.Admit(size, head)
	if err != nil {
		return 0, &badFrame{err}
	}
	if mute != nil {
		return size, c.hold(session, mute)
	}
	return size, nil
}

// hold lets a mute pass within a frame.
func (c *conn) hold(session Session, m Mute) error {
	defer m.Done()
	if err := c.mute(m); err != nil {
		return err
	}
	if c.peerGone() {
		return errGone // it left its frame behind
	}
	c.active = time.Now()
	limit, _ := c.patience(session)
	c.until(limit)
	return nil
}

// judge refuses what cannot be a frame whatever follows.
func (c *conn) judge(session Session, size int) error {
	head := [sizeBytes]byte(c.rest[c.first:])
	if what := foreign(head); what != "" {
		return badFramef("%s", what)
	}
	if size < 0 {
		return badFramef("frame of %d bytes", size)
	}
	if size > c.server.options.MaxRequestBytes {
		return badFramef("frame of %d bytes is larger than socket.request.max.bytes %d", size, c.server.options.MaxRequestBytes)
	}
	if size > c.server.options.MaxLoginBytes && !session.Established() {
		return badFramef("frame of %d bytes before the login is larger than sasl.server.max.receive.size %d", size, c.server.options.MaxLoginBytes)
	}
	return nil
}

// foreign names another protocol by its first four bytes, and the way out.
func foreign(head [sizeBytes]byte) string {
	switch string(head[:]) {
	case "GET ", "HEAD", "POST", "PUT ", "DELE", "OPTI", "PATC", "CONN", "PRI ":
		return "HTTP on a port of Kafka (http.listen is the one for browsers)"
	}
	if head[0] == handshakeRecord && head[1] == 3 {
		return "TLS on a port without TLS (security.protocol of the client)"
	}
	return ""
}

// body takes the frame whose size and head have been read.
func (c *conn) body(session Session, size int, limit time.Time) ([]byte, *frame, error) {
	if size <= restBytes-sizeBytes {
		return c.smallBody(session, size)
	}
	c.first += sizeBytes
	f := c.newFrame(session, c.rest[c.first:c.end])
	if size <= smallFrame {
		return c.middleBody(session, f, size)
	}
	return c.largeBody(f, size, limit)
}

// smallBody serves from the read buffer, or from a copy when answers may be
// outstanding.
func (c *conn) smallBody(session Session, size int) ([]byte, *frame, error) {
	if err := c.need(sizeBytes + size); err != nil {
		return nil, nil, err
	}
	from := c.first + sizeBytes
	c.first = from + size
	bytes := c.rest[from:c.first:c.first]
	if !c.copies {
		return bytes, nil, nil
	}
	f := c.newFrame(session, bytes)
	f.grow(0, size)
	copy(f.buffer.bytes, bytes)
	return f.buffer.bytes[:size:size], f, nil
}

// middleBody reads a frame that has no room in the read buffer. Where others wait for
// memory it is lent what it is decoded to before its bytes are read: the frames of
// thousands who wait would take more than what they wait for. One that stalls then gives
// it back, and is lent again when it is there.
func (c *conn) middleBody(session Session, f *frame, size int) ([]byte, *frame, error) {
	if f.memory.short() {
		if err := c.lendDecoded(f, size); err != nil {
			return nil, f, err
		}
		if f.loan.held > 0 {
			c.active = time.Now() // until now it could do nothing
			c.until(c.active.Add(smallTime))
		}
	}
	f.grow(0, size)
	have := c.takeRest(f.buffer.bytes[:size])
	for have < size {
		n, err := c.fill(f.buffer.bytes[have:size])
		if errors.Is(err, errDue) && f.loan.held > 0 {
			f.memory.give(&f.loan)
			limit, _ := c.patience(session)
			c.until(limit)
			continue
		}
		if err != nil {
			return nil, f, cutOff(err)
		}
		have += n
	}
	return f.buffer.bytes[:size:size], f, c.lendDecoded(f, size)
}

// largeBody reads a frame into memory that grows as its bytes arrive, as
// long as they arrive fast enough.
func (c *conn) largeBody(f *frame, size int, limit time.Time) ([]byte, *frame, error) {
	f.loan.large = int64(size)*f.weight > piece
	c.lender.Store(f.memory)
	defer c.gaining.Store(0)
	have, gained, paced := 0, 0, 0
	for have < size {
		if f.buffer == nil || have == len(f.buffer.bytes) {
			if err := c.lend(f, have, size); err != nil {
				return nil, f, err
			}
			gained, paced = 0, 0
			c.until(c.window(limit))
			c.gaining.Store(time.Now().UnixNano())
		}
		room := f.buffer.bytes[have:min(size, len(f.buffer.bytes))]
		n := c.takeRest(room)
		if n == 0 {
			var err error
			n, err = c.fill(room)
			if errors.Is(err, errDue) && gained >= paceBytes {
				gained = 0
				c.until(c.window(limit))
				continue
			}
			if err != nil {
				return nil, f, cutOff(err)
			}
			c.giveWay(time.Now(), largeTurn)
		}
		have, gained, paced = have+n, gained+n, paced+n
		if paced >= hurryBytes(size) {
			paced = 0
			c.gaining.Store(time.Now().UnixNano())
		}
	}
	return f.buffer.bytes[:size:size], f, nil
}

// window is the end of the time in which a large frame must gain its bytes.
// A connection that is not logged in has no more time than it had.
func (c *conn) window(limit time.Time) time.Time {
	end := time.Now().Add(paceWindow)
	if limit.Before(end) && limit.Equal(c.accepted.Add(c.server.options.LoginTimeout)) {
		return limit
	}
	return end
}

// lend takes the memory for the next step of a large frame and grows it.
func (c *conn) lend(f *frame, have, size int) error {
	next := step(have, size, f.memory.tight())
	want := int64(0) // a frame that is still small is not counted
	if next > smallFrame {
		want = int64(next) * f.weight
	}
	if err := c.borrow(f, want); err != nil {
		return err
	}
	f.grow(have, next)
	return nil
}

// lendDecoded takes the memory for what a small frame is decoded to, unless the frame
// holds it. The frame itself is not counted.
func (c *conn) lendDecoded(f *frame, size int) error {
	decoded := int64(size) * (f.weight - 1)
	if decoded == 0 {
		return nil
	}
	c.lender.Store(f.memory)
	return c.borrow(f, decoded)
}

// borrow takes memory for a frame until it holds as much as is wanted: all at once,
// for those who wait with a part of what they need keep it from each other.
func (c *conn) borrow(f *frame, want int64) error {
	if f.loan.held >= want || f.memory.tryTake(&f.loan, want-f.loan.held) {
		return nil
	}
	c.gaining.Store(0)
	c.still.Store(true)
	defer c.still.Store(false)
	if err := f.memory.wait(c.context, c.server.stopping, &f.loan); err != nil {
		return err
	}
	if c.peerGone() {
		return errGone // while it waited, perhaps for long
	}
	return nil
}

// reserve is Request.Reserve for this connection. A request that lies in the read
// buffer gets a frame that holds nothing but the memory.
func (c *conn) reserve(bytes int64) error {
	f := c.request.frame
	if f == nil {
		f = c.newFrame(*c.session.Load(), c.request.Frame)
		c.request.frame = f
	}
	c.lender.Store(f.memory)
	f.loan.large = f.loan.large || bytes > piece
	return c.borrow(f, bytes)
}

// hurryAll hurries those who hold memory of the pools that somebody waits for, one look
// for all who wait; false: nobody does.
func (s *Server) hurryAll(now time.Time) bool {
	some := false
	for _, m := range s.memory.all() {
		if m.short() {
			some = true
			s.hurry(m, now)
		}
	}
	return some
}

// hurry frees memory of a pool for those who wait for it: it ends the wait of some
// requests whose frames hold any, and the connections whose frames hold some and
// have not gained their hurryBytes for some time, or whose peers have taken nothing of
// the answer.
func (s *Server) hurry(m *memory, now time.Time) {
	then, recall := now.Add(-hurried).UnixNano(), m.recall(now)
	for _, c := range s.connections() {
		if p := c.parked.Load(); p != nil && p.lender == m && recall.wants(p) {
			p.end()
		}
		if c.lender.Load() != m {
			continue
		}
		if since := c.gaining.Load(); since != 0 && since < then {
			c.abort(badFramef("a frame arrived too slowly, and others were waiting for its memory"))
		}
		if since := c.giving.Load(); since != 0 && since < now.Add(-takenIn).UnixNano() {
			c.abort(errLingering)
		}
	}
}

// cutOff is err, where an end of file is in the middle of a frame.
func cutOff(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return &badFrame{io.ErrUnexpectedEOF}
	case errors.Is(err, errDue):
		return badFramef("a frame arrives too slowly")
	}
	return err
}

// takeRest moves what the read buffer has into p.
func (c *conn) takeRest(p []byte) int {
	n := copy(p, c.rest[c.first:c.end])
	c.first += n
	return n
}

// need reads until n bytes are in the read buffer.
func (c *conn) need(n int) error {
	for c.end-c.first < n {
		if c.first > 0 {
			c.end = copy(c.rest[:], c.rest[c.first:c.end])
			c.first = 0
		}
		got, err := c.fill(c.rest[c.end:])
		if err != nil {
			return err
		}
		c.end += got
	}
	return nil
}

// until says when reads are given up. The deadline of the socket is moved
// only when it would fire too late.
func (c *conn) until(due time.Time) {
	c.due = due
	if c.armed.IsZero() || c.armed.After(due) {
		c.arm()
	}
}

func (c *conn) arm() {
	c.armed = c.due
	c.nc.SetReadDeadline(c.due)
	if c.stopping() { // interrupt may have come before
		c.nc.SetReadDeadline(time.Now())
	}
}

// fill reads at least one byte.
func (c *conn) fill(p []byte) (int, error) {
	for {
		if c.wire != nil {
			c.wire.left = recordBytes
		}
		n, err := c.nc.Read(p)
		switch {
		case n > 0:
			c.work += mostWork(readWork, n)
			return n, nil
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		case c.stopping():
			return 0, errStopping
		case !time.Now().Before(c.due):
			return 0, errDue
		default:
			c.arm()
		}
	}
}
