package server

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"
)

// Handler is who answers the frames: it is told of every connection.
type Handler interface {
	// Connect begins the session of a connection, after the handshake where it
	// has TLS. It must not block. An error closes the connection; the text goes to
	// the log.
	Connect(c Conn) (Session, error)
}

// Conn is what the server knows of a connection.
type Conn struct {
	ID       uint64
	Listener Listener // with the host that this client is told
	Remote   net.Addr
	Local    net.Addr
	// TLS is what the handshake gave, the verified chains of the client's
	// certificate among it; nil on a plain connection. It holds some KiB:
	// whoever keeps the Conn may let go of it.
	TLS *tls.ConnectionState
}

// Session answers the frames of one connection, one at a time and in order;
// its methods are never called together, except Sent.
type Session interface {
	// Admit judges a frame before its bytes are read: size without the
	// 4-byte prefix, head its first 508 bytes, or all where it is shorter. An
	// error closes the connection.
	// Sizes below zero and above Options.MaxRequestBytes, or MaxLoginBytes
	// until Established, are refused before.
	//
	// A mute must pass before the rest of the frame is read, and before
	// memory is taken for it: a client that comes back does not escape the
	// throttle it left behind.
	Admit(size int, head []byte) (Mute, error)

	// Serve answers one frame. The request is the server's again when Serve
	// returns; its frame belongs to it until the answer is written, or it is
	// dropped. An error closes the connection without an answer.
	Serve(ctx context.Context, r *Request) (Answer, error)

	// Sent tells what it took to write an answer, once for each that has a
	// payload, in their order, also when the write failed. It comes after the
	// Serve that gave the answer and before End, and never beside another Sent;
	// but where an answer had to wait (Answer.Wait) it comes from another
	// goroutine than the rest and may run beside Admit, Serve and Established
	// of the requests after it. It must not block.
	//
	// work is the time spent, as far as it was not waiting for the peer: at most
	// 25 us for each write and 1 ns for each byte.
	Sent(work time.Duration)

	// Established says whether the session is past authentication. Until
	// then the shorter time limit of Options.LoginTimeout applies.
	Established() bool

	// Name is whose the session is. Where memory for requests is short, who holds
	// least of it comes first; empty: everybody of the peer's address is one.
	Name() string

	// End is called once, when the connection is gone.
	End()
}

// Request is one frame on its way.
type Request struct {
	Frame    []byte    // header and body, without the size
	Received time.Time // when the last byte was there, and others had had their turn

	// Read is the time spent in reading the frame, as far as it was not waiting
	// for the peer: at most 5 us for each read and 1 ns for each byte. A frame
	// that came with the one before it has none.
	Read time.Duration

	frame *frame // what holds Frame; nil: the read buffer does
	park  func(context.Context) (context.Context, func())

	reserve func(bytes int64) error
}

// Reserve takes memory for an answer that is long beside its request, unless the frame
// holds as much, and waits for it where others have taken what there is. It goes back when the answer has been
// written. Who holds it must hold no lock. An error is that of a connection that ends.
func (r *Request) Reserve(bytes int64) error {
	if r.reserve == nil {
		return nil
	}
	return r.reserve(bytes)
}

// DropFrame says that the request needs its frame no more, and has kept nothing that
// lies in it: the memory of the frame goes back now, and not when the answer has been
// written. For requests that wait for others.
func (r *Request) DropFrame() {
	r.Frame = nil
	r.frame.empty()
}

// Keep is DropFrame for a request that goes on to take so many bytes, while it waits for
// others; more than were counted for it are not.
func (r *Request) Keep(bytes int64) {
	r.Frame = nil
	r.frame.keep(bytes)
}

// Park is called by a request that is about to wait for something else than
// its own work. Until resume is called the connection is watched, without
// taking a byte from the next request, and the context ends when the peer
// goes away or the server stops; or when others wait for memory that the frame
// holds, which they do until the request is answered: it answers with what there
// is. One that cannot calls DropFrame before.
func (r *Request) Park(ctx context.Context) (parked context.Context, resume func()) {
	if r.park == nil {
		return ctx, func() {}
	}
	return r.park(ctx)
}

// Payload is an encoded answer: a frame with its size prefix, parts of which
// may still be in files.
type Payload interface {
	Size() int // bytes WriteTo will write
	io.WriterTo
	Release() // once, after the last use
}

// Answer is what follows from a request.
type Answer struct {
	// Payload is written at once; nil writes nothing (acks=0).
	Payload Payload

	// Wait, when set, must return nil before the payload may be written.
	// The server reads on meanwhile, up to Options.Outstanding answers, and
	// writes them in order: for Produce, which waits only for a commit. An
	// error closes the connection.
	Wait func(ctx context.Context) error

	// Alone says that every outstanding answer must be written before the
	// next frame is served; true for all but Produce.
	Alone bool

	// Mute keeps the server from reading the next frame, from when the
	// answer is written until it has passed. Nil does not mute.
	Mute Mute

	// Delay holds the answer back (a failed login); the connection reads
	// nothing meanwhile.
	Delay time.Duration

	// Close ends the connection once the answer is written, without a mute.
	Close bool
}

// Mute is a throttle in force on one connection.
type Mute interface {
	// Remaining is how long the mute lasts from now on; zero or less
	// ends it.
	Remaining(now time.Time) time.Duration
	// Changed gives something, or is closed, when Remaining must be asked
	// again: a limit was raised or removed.
	Changed() <-chan struct{}
	// Done is called once when the connection is read again or gone.
	Done()
}

// Admitter judges connections at accept, before a byte is read.
type Admitter interface {
	// Admit judges a connection to the listener of that name. It is called by
	// the acceptor of the listener, so by several goroutines together, and must
	// not block: whoever comes after this connection waits for it.
	Admit(listener string, remote net.Addr, now time.Time) Admission
}

// Admission is what becomes of a connection.
type Admission struct {
	// Wait passes before a connection is served, while its listener takes no
	// other; or before a refused one is closed, while nothing else waits.
	Wait time.Duration

	// Refuse says why the connection is not served, for the log; nil serves it.
	// The peer is told nothing: its socket is not read and not answered, and
	// closed after Wait, or at once when too many such sockets are open.
	Refuse error
}
