package server

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"kaasd/internal/kafka"

	"go.uber.org/zap"
)

// restBytes is the read buffer of a connection.
const restBytes = 512

// errFinished ends a connection that has done what it was there for.
var errFinished = errors.New("the connection is finished")

// unwelcome is why the handler has no session for a connection.
type unwelcome struct{ cause error }

func (e *unwelcome) Error() string { return e.cause.Error() }
func (e *unwelcome) Unwrap() error { return e.cause }

// conn is one connection. Its goroutine reads, serves and writes; a flusher
// writes instead while answers are outstanding.
type conn struct {
	server   *Server
	door     *door
	nc       net.Conn        // what is read and written: the socket, or TLS over it
	socket   net.Conn        // what was accepted
	wire     *wire           // between TLS and the socket; nil without TLS
	config   *tls.Config     // of the handshake, as long as it lasts
	raw      syscall.RawConn // of the socket; nil when the transport has none
	id       uint64
	host     string
	accepted time.Time

	context context.Context // ends with the connection
	cancel  context.CancelCauseFunc
	session atomic.Pointer[Session]
	parked  atomic.Pointer[pause]  // nil: no request is
	serving atomic.Bool            // a request is being answered
	ending  atomic.Bool            // closed after the answer in flight
	still   atomic.Bool            // not reading: the lookout watches the peer
	watched bool                   // by hangups; set before the first still
	gone    atomic.Bool            // hangups has heard the peer go
	noticed bool                   // the lookout has: it ends the connection
	lender  atomic.Pointer[memory] // the pool of the last frame that may have taken memory
	gaining atomic.Int64           // since when a frame with memory waits for its next hurryBytes, ns since the epoch; 0: none does
	giving  atomic.Int64           // since when the answer to such a frame waits until the peer takes the next piece of it; 0: none does

	request Request
	outlet  outlet
	taken   uint64 // bytes that the peer had acknowledged when a write was last looked at
	outbox  outbox
	copies  bool // answers may be outstanding: frames must not lie in rest

	// reading
	active     time.Time     // end of the last request
	due        time.Time     // when the read in progress is given up
	armed      time.Time     // the deadline of the socket, due or earlier
	work       time.Duration // the most that reads since then were work
	turn       time.Time     // since when the goroutine has not waited
	first, end int           // what is read and not yet served: rest[first:end]
	rest       [restBytes]byte
}

func newConn(s *Server, d *door, nc net.Conn, host string, now time.Time) *conn {
	c := &conn{server: s, door: d, nc: nc, socket: nc, id: s.ids.Add(1), host: host, accepted: now, active: now}
	c.context, c.cancel = context.WithCancelCause(context.Background())
	if socket, ok := nc.(syscall.Conn); ok {
		c.raw, _ = socket.SyscallConn()
	}
	nc.SetWriteDeadline(c.nextGlance(now, now))
	if d.TLS != nil {
		c.encrypt(d.TLS.Config())
	}
	c.outlet.conn = c
	c.request.park, c.request.reserve = c.park, c.reserve
	return c
}

// run serves the connection until it ends.
func (c *conn) run() {
	defer c.server.running.Done()
	c.watched = c.server.hangups.watch(c)
	c.close(c.serveAll())
}

func (c *conn) serveAll() (err error) {
	defer c.survive(&err)
	met := Conn{ID: c.id, Listener: c.door.Listener, Remote: c.socket.RemoteAddr(), Local: c.socket.LocalAddr()}
	if c.wire != nil {
		if err := c.handshake(&met); err != nil {
			return err
		}
	}
	session, err := c.server.handler.Connect(met)
	if err != nil {
		return &unwelcome{err}
	}
	c.session.Store(&session)
	for {
		bytes, f, err := c.next(session)
		if err != nil {
			return err
		}
		if c.ending.Load() {
			f.free()
			return errEnded
		}
		if err := c.answer(session, bytes, f); err != nil {
			return err
		}
	}
}

// How long a connection is served before others get their turn: between requests,
// and between the reads of a large one, which takes about as long for a MiB.
const (
	turnTime  = 50 * time.Microsecond
	largeTurn = 500 * time.Microsecond
)

// giveWay lets others go on where the connection has not waited for long. A peer
// that sends requests without waiting for answers, or large ones as fast as they are
// read, never makes the goroutine wait, and a thousand of those would each keep a
// processor for the 10 ms after which Go takes it away, before anybody else is
// answered. It gives the time when the connection goes on.
func (c *conn) giveWay(now time.Time, turn time.Duration) time.Time {
	if now.Sub(c.turn) < turn {
		return now
	}
	runtime.Gosched()
	c.turn = time.Now()
	return c.turn
}

// close ends everything the connection has and says why it ended.
func (c *conn) close(why error) {
	c.outbox.flush() // what is outstanding still goes out
	if cause := context.Cause(c.context); cause != nil {
		why = cause
	} else if errors.Is(why, errStopping) || errors.Is(why, errFinished) || errors.Is(why, errEnded) {
		c.linger()
	}
	c.cancel(why)
	c.endTLS()
	c.server.closing.Take()
	defer c.server.closing.Pass()
	c.logEnd(why) // which counts, before the peer knows
	c.socket.Close()
	if session := c.session.Load(); session != nil {
		c.endSession(*session)
	}
	c.server.leave(c)
	c.door.metrics.open.Dec()
	if !c.stopping() {
		c.server.closing.rest(c.server.ids.Load())
	}
}

func (c *conn) endSession(session Session) {
	var err error
	defer c.survive(&err)
	session.End()
}

func (c *conn) logEnd(why error) {
	var bad *badFrame
	var shake *badHandshake
	var no *unwelcome
	switch {
	case errors.As(why, &shake) && shake.foreign: // and a failure of another kind must not hide it
		c.server.note(zap.InfoLevel, "not a client of TLS, connection closed", c.host, c.fields(why)...)
	case errors.As(why, &shake):
		c.server.note(zap.InfoLevel, "TLS handshake failed", c.host, c.fields(why)...)
	case errors.As(why, &no):
		c.server.note(zap.WarnLevel, "connection refused", c.host, c.fields(why)...)
	case errors.As(why, &bad):
		c.door.metrics.badFrames.Inc()
		c.server.note(zap.InfoLevel, "not a frame of Kafka, connection closed", c.host, c.fields(why)...)
	default:
		if entry := c.server.log.Check(zap.DebugLevel, "connection closed"); entry != nil {
			entry.Write(c.fields(why)...)
		}
	}
}

func (c *conn) fields(err error) []zap.Field {
	return []zap.Field{zap.String("listener", c.door.Name), zap.Stringer("peer", c.socket.RemoteAddr()), zap.Error(err)}
}

// survive turns a panic into an error: one request must not end the others.
func (c *conn) survive(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
		c.server.log.Error("panic while serving a connection",
			append(c.fields(*err), zap.ByteString("stack", debug.Stack()))...)
	}
}

// interrupt tells the connection that the server stops: what waits ends, and
// what is written must go out soon.
func (c *conn) interrupt(now time.Time) {
	c.nc.SetReadDeadline(now)
	c.nc.SetWriteDeadline(c.nextGlance(now, now))
	c.unpark()
}

// abort ends the connection at once.
func (c *conn) abort(why error) {
	c.cancel(why)
	c.socket.Close() // TLS would send its end first, and wait for a peer that takes nothing
}

// dismissTime is how long the answer in flight may take of a connection that is
// closed for who it belongs to: within a second of the change, which is known some
// 200 ms after a file was written.
const dismissTime = 700 * time.Millisecond

// dismiss ends the connection: at once where it works on no answer, else after
// that, and after what waits for commits.
func (c *conn) dismiss() {
	c.ending.Store(true)
	if c.serving.Load() && !c.still.Load() || c.outbox.pending() {
		time.AfterFunc(dismissTime, func() { c.abort(errEnded) })
		return
	}
	c.abort(errEnded)
}

func (c *conn) stopping() bool { return c.server.stopped.Load() != nil }

// answer serves one frame and sees its answer on the way.
func (c *conn) answer(session Session, bytes []byte, f *frame) error {
	c.serving.Store(true)
	defer c.serving.Store(false)
	if !isProduce(bytes) {
		if err := c.outbox.flush(); err != nil {
			f.free()
			return err
		}
	}
	c.request.Frame, c.request.frame = bytes, f
	a, err := c.serve(session)
	d := delivery{answer: a, frame: c.request.frame}
	c.request.Frame, c.request.frame = nil, nil
	if err != nil {
		d.drop()
		return err
	}
	err = c.dispatch(d)
	c.active = time.Now()
	return err
}

// dispatch delivers an answer, or leaves that to the flusher.
func (c *conn) dispatch(d delivery) error {
	if c.mayWait(d) {
		return c.outbox.add(c, d)
	}
	if err := c.outbox.flush(); err != nil {
		d.drop()
		return err
	}
	c.copies = c.copies || d.answer.Wait != nil
	return c.deliver(d)
}

func (c *conn) serve(session Session) (a Answer, err error) {
	defer c.survive(&err)
	now := time.Now()
	between := now.Sub(c.active)
	if between >= turnTime {
		c.turn = now
	}
	c.request.Read = min(between, c.work)
	c.work = 0
	c.request.Received = c.giveWay(now, turnTime) // others' turns are no work of this one
	return session.Serve(c.context, &c.request)
}

// mayWait says whether the answer may be outstanding while the connection
// reads on. A frame that lies in the read buffer cannot: it would be
// overwritten. From the first such answer on frames are copied.
func (c *conn) mayWait(d delivery) bool {
	a := d.answer
	if a.Alone || a.Close || a.Mute != nil || a.Delay > 0 {
		return false
	}
	if a.Wait != nil {
		return d.frame != nil
	}
	return c.outbox.pending()
}

// isProduce peeks at the api key of a frame: only Produce may be served
// while answers are outstanding.
func isProduce(frame []byte) bool { return keyOf(frame) == kafka.KeyProduce }

// keyOf is the api key at the start of a frame; -1 where there is none.
func keyOf(frame []byte) kafka.APIKey {
	if len(frame) < 2 {
		return -1
	}
	return kafka.APIKey(binary.BigEndian.Uint16(frame))
}

// delivery is an answer on its way, with the frame it answers.
type delivery struct {
	answer Answer
	frame  *frame
}

// deliver waits as the answer asks, writes it, and mutes a connection that goes
// on.
func (c *conn) deliver(d delivery) error {
	if d.answer.Mute != nil {
		defer d.answer.Mute.Done()
	}
	if err := c.send(d); err != nil {
		return err
	}
	switch {
	case d.answer.Close:
		return errFinished
	case d.answer.Mute != nil:
		return c.mute(d.answer.Mute)
	}
	return nil
}

// send waits as the answer asks and writes it; the frame and the payload are
// gone afterwards.
func (c *conn) send(d delivery) error {
	defer d.release()
	if d.answer.Wait != nil {
		if err := d.answer.Wait(c.context); err != nil {
			return fmt.Errorf("wait for the commit of an answer: %w", err)
		}
	}
	if d.answer.Delay > 0 {
		if err := c.delay(d.answer.Delay); err != nil {
			return err
		}
	}
	if d.answer.Payload == nil {
		return nil
	}
	err := c.outlet.write(d.answer.Payload, d.frame.lender() != nil)
	(*c.session.Load()).Sent(c.outlet.work)
	return err
}

// release gives back the memory of the answer and its frame.
func (d delivery) release() {
	if d.answer.Payload != nil {
		d.answer.Payload.Release()
	}
	d.frame.free()
}

// drop ends a delivery that will not be made.
func (d delivery) drop() {
	d.release()
	if d.answer.Mute != nil {
		d.answer.Mute.Done()
	}
}
