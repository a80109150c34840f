package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	gatherBytes = 16 << 10 // small parts of an answer are written together
	smallPart   = 4 << 10
	heldStep    = 64 << 10 // how much of an answer must be taken at a time while others wait for memory

	stopPatience = 2 * time.Second // with a peer that takes nothing, at a stop

	// glances is how often a write that waits is looked at within its patience:
	// what a call has moved, and when, is not known before it ends.
	glances = 8
)

var errStalled = errors.New("the peer takes no bytes")

// outlet is the writer a payload goes to. Small parts are gathered and leave
// with the large part after them in one call.
type outlet struct {
	conn   *conn
	left   int           // bytes of the payload still to come
	clock  time.Time     // when the last write ended, or the payload was begun
	work   time.Duration // of the payload so far
	held   bool          // the frame that the payload answers holds memory
	gather *buffer       // nil when nothing is gathered
	filled int
	parts  [2][]byte
	vector net.Buffers
}

// patience is how long a write may go without progress.
func patience(timeout time.Duration, stopping bool) time.Duration {
	if stopping {
		return min(timeout, stopPatience)
	}
	return timeout
}

// write writes a payload; held says whether the frame that it answers holds memory
// meanwhile.
func (o *outlet) write(p Payload, held bool) error {
	o.left, o.clock, o.work, o.held = p.Size(), time.Now(), 0, held
	o.gave()
	defer o.reset()
	if _, err := p.WriteTo(o); err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	if o.left != 0 {
		return fmt.Errorf("an answer lacks %d of its %d bytes", o.left, p.Size())
	}
	return nil
}

// gave notes that the peer has taken what was written until now.
func (o *outlet) gave() {
	if o.held {
		o.conn.giving.Store(o.clock.UnixNano())
	}
}

func (o *outlet) reset() {
	o.conn.giving.Store(0)
	o.gather.free()
	o.gather, o.filled, o.left = nil, 0, 0
}

// Write sends p, or keeps it for the next part when it is small and not the
// last.
func (o *outlet) Write(p []byte) (int, error) {
	if len(p) > o.left {
		return 0, o.tooLong(int64(len(p)))
	}
	o.left -= len(p)
	if o.left > 0 && len(p) < smallPart && o.filled+len(p) <= gatherBytes {
		if o.gather == nil {
			o.gather = newBuffer(gatherBytes)
		}
		o.filled += copy(o.gather.bytes[o.filled:], p)
		return len(p), nil
	}
	if o.held && len(p) > heldStep {
		if err := o.flush(); err != nil {
			return 0, err
		}
	}
	if o.filled == 0 {
		return o.send(p)
	}
	o.parts = [2][]byte{o.gather.bytes[:o.filled], p}
	o.vector, o.filled = o.parts[:], 0
	err := o.sendAll(&o.vector)
	o.parts = [2][]byte{}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (o *outlet) tooLong(part int64) error {
	return fmt.Errorf("the answer is longer than it said, by %d bytes", part-int64(o.left))
}

// flush sends what is gathered.
func (o *outlet) flush() error {
	if o.filled == 0 {
		return nil
	}
	gathered := o.gather.bytes[:o.filled]
	o.filled = 0
	_, err := o.send(gathered)
	return err
}

// send sends all of p, and where memory is held meanwhile in steps, since that the
// peer has taken some is known after each.
func (o *outlet) send(p []byte) (sent int, err error) {
	for o.held && err == nil && len(p)-sent > heldStep {
		var n int
		n, err = o.sendStep(p[sent:][:heldStep])
		sent += n
	}
	if err != nil {
		return sent, err
	}
	n, err := o.sendStep(p[sent:])
	return sent + n, err
}

func (o *outlet) sendStep(p []byte) (int, error) {
	progress, sent := o.clock, 0
	for {
		n, err := o.conn.nc.Write(p[sent:])
		sent += n
		if err == nil {
			o.worked(sent)
			return sent, nil
		}
		if err := o.conn.goOn(err, n > 0, &progress); err != nil {
			o.worked(sent)
			return sent, err
		}
	}
}

// sendAll sends all parts in one call, or as many as it takes.
func (o *outlet) sendAll(v *net.Buffers) error {
	progress, sent := o.clock, 0
	for {
		n, err := v.WriteTo(o.conn.nc)
		sent += int(n)
		if err == nil {
			o.worked(sent)
			return nil
		}
		if err := o.conn.goOn(err, n > 0, &progress); err != nil {
			o.worked(sent)
			return err
		}
	}
}

// worked adds the time since the last write, with the making of what was
// written now, as far as it can have been work.
func (o *outlet) worked(bytes int) {
	now := time.Now()
	o.work += min(now.Sub(o.clock), mostWork(writeWork, bytes))
	o.clock = now
	o.gave()
}

// goOn judges a write that did not finish: a deadline that fired is armed
// again while the peer still takes bytes or has time left to.
func (c *conn) goOn(err error, moved bool, progress *time.Time) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	now := time.Now()
	if c.took(moved) {
		*progress = now
	}
	if !now.Before(c.writeDue(*progress)) {
		return errStalled
	}
	c.nc.SetWriteDeadline(c.nextGlance(now, *progress))
	if c.stopping() { // interrupt may have come before
		c.nc.SetWriteDeadline(c.nextGlance(now, *progress))
	}
	return nil
}

// took says whether the peer has taken bytes since a write was last looked at: by
// what it has acknowledged, where the kernel says. That a call has moved some may
// only mean that there was room for them in the kernel. The first look has nothing
// to compare with.
func (c *conn) took(moved bool) bool {
	before := c.taken
	c.taken = c.acknowledged()
	if c.taken == 0 {
		return moved
	}
	return before != 0 && c.taken != before
}

// nextGlance is when a write that waits is looked at again.
func (c *conn) nextGlance(now, progress time.Time) time.Time {
	next := now.Add(patience(c.server.options.WriteTimeout, c.stopping()) / glances)
	if due := c.writeDue(progress); due.Before(next) {
		return due
	}
	return next
}

// writeDue is when a write without progress since then is given up.
func (c *conn) writeDue(progress time.Time) time.Time {
	timeout := c.server.options.WriteTimeout
	stopped := c.server.stopped.Load()
	if stopped == nil {
		return progress.Add(timeout)
	}
	if progress.Before(*stopped) {
		progress = *stopped
	}
	return progress.Add(patience(timeout, true))
}
