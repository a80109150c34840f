// Package server holds the sockets: it accepts connections, cuts the byte
// stream into frames, hands each frame to the session of its connection, and
// writes the answers in the order of the requests.
//
// One goroutine serves a connection, one request at a time: read, serve,
// write, and if the answer mutes, do not read until the mute has passed. A
// peer that sends more meanwhile fills its socket and is pushed back by TCP.
// The one exception are answers that only wait for a commit (Answer.Wait): up
// to Options.Outstanding of them wait in order while the connection reads on.
//
// # At the door
//
// The Admitter judges a connection once TCP has accepted it. Where the rate of
// the listener is exceeded its acceptor waits, and the kernel's queue with it;
// the other listeners and what is being served do not. A refused connection
// goes to the porch: its socket is neither read nor answered, counts in no
// limit and no gauge, and one goroutine closes each when it is due, so that a
// client which comes back at once does not turn a refusal into a storm. The
// porch holds a sixteenth of the descriptors, 16 to 4,096; beyond it sockets
// close at once. After each 16 such an acceptor rests for 1 ms.
//
// Of the TLS handshakes that are going on half as many calculate at a time as
// there are processors (turns), so that a flood of them leaves the others one. So
// are connections put away whose peers have all gone at the same moment, with such rests
// too: processors that are never idle look at the network every 10 ms only.
//
// # TLS
//
// On a listener with TLS the handshake comes first, on the connection's own
// goroutine, within the time to log in. At most Options.Handshakes go on at a
// time, over all listeners: an acceptor takes a seat before it accepts, so what
// is beyond waits in the kernel's queue and costs nothing, and listeners without
// TLS do not notice. While all seats are taken and an acceptor waits for one, a
// handshake gives its own up, one for each connection that is accepted:
//
//	of a crowd, an address with 1/16 of the seats (32)    250 ms until its first message,
//	                                                      1.5 s for the rest
//	of any other                                          3 s since accept
//
// Of the crowds that have a slow one the largest loses its oldest such. 2,000 half
// handshakes of one address are gone through in 0.8 s, in 4.5 s if each begins with
// a whole message, where 3 s for all would make 9 s of it; no more than 2,000 a
// second are ended so. What counts is the time in which the peer has to go on, all
// told: neither what we calculate, or wait for a turn to, nor a byte now and then
// changes it. So clients that come back all at once from behind one address, which
// look like an attack at first, get through: their first message is there as soon as
// they are accepted, and the rest takes one or two round trips, for which four of
// 300 ms are there. An address of IPv6 stands for its /64. Attackers with more than
// 16 addresses have 3 s for each handshake, as everybody.
//
//	socket <- wire <- tls.Conn <- conn    wire bears the deadlines of writes,
//	                                      one of which would end tls.Conn
//
// Peers are watched, and held back, at the socket. Versions and ciphers are those
// of the listener's TLSSource and of crypto/tls, which renegotiates with nobody,
// takes no record above 16 KiB and no long row of empty ones. Since it gathers the
// messages of a handshake whatever they are, before it and after, a connection ends
// that sends 20 KiB of which no data come, or 64 KiB in a handshake where clients are
// asked for certificates.
//
// A connection at rest holds some 8 KiB more than a plain one, until it has said
// much: crypto/tls keeps the memory that the largest record and message took, until
// the connection ends, and takes that for a record once its length is known. Measured,
// with Go 1.26:
//
//	after the handshake and small requests    4 to 7 KiB more than a plain one
//	a record begun, of which there is little  25 KiB
//	after requests of many records            50 KiB
//	at the worst                              110 KiB; 180 where certificates are asked for
//	in a handshake                            110 KiB, of which there are 512 at a time
//
// Nothing gives it back but the end of the connection. The bounds are max.connections
// and max.connections.per.ip, the time to log in, and after it the idle timeout.
//
// A client that names a server (SNI) which the certificate is for is told to come
// back to that name: it will check the certificate against it again.
//
// # Work
//
// A session learns what reading its frames and writing its answers cost
// (Request.Read, Session.Sent). The time is taken between moments that are known
// anyway and one more per answer, and is bounded by calls and bytes: waiting
// for a slow peer looks the same from outside, and is nobody's work.
//
// # Memory
//
// A connection at rest is its goroutine and a read buffer of 512 bytes, some 8 KiB
// with what the kernel and the runtime keep for it. Where max.connections is not set,
// there may be as many as half of Options.Memory has room for, at 8 KiB each, or at
// 32 KiB where there is a listener with TLS.
// Requests that fit are served where they lie; larger ones get a pooled buffer
// for as long as they are in progress:
//
//	frame size      buffer                              from queued.max.request.bytes
//	..508 B         the connection's own                no
//	..4 KiB         4 KiB class, pooled                 but for what it is decoded to
//	..1 MiB         class by powers of two, pooled      yes
//	above           grown as bytes arrive, dropped      yes
//
// There are three pools: an eighth, 256 KiB at the least, for the frames of those who
// are not logged in when they begin, a quarter for what others ask, the rest for Produce.
// A pool knows nothing of the others: what strangers hold and wait for delays nobody who
// is logged in, and answers that nobody takes delay no records. What follows is true of
// each.
//
// A frame that is neither Produce nor a log-in counts sixteenfold: what it is decoded
// to, and its answer, have their share.
//
// Answers that are long beside their requests, such as that of Metadata about all topics,
// take their memory before they are made (Request.Reserve), and so does a Fetch of more
// partitions than its frame names.
//
// A buffer begins with at most 256 KiB, or with 4 KiB where half of the pool is
// taken, and grows when that much has really arrived, so the size a peer announces
// costs next to nothing. Who waits for the memory of the next step does not read. A
// frame takes at most a quarter of the pool, and those that count more than 256 KiB
// together three quarters, so that small ones need not wait for large. While somebody
// waits, frames must gain in each 3 s a tenth of what they are, 48 to 160 KiB. When it
// can go no further the first that waits gets the one seat outside the pool
// and is no longer counted in it, so something always finishes and the total
// stays below the pool plus one frame.
//
// Who waits is served by whom it is of (Session.Name, or else the peer's address, of IPv6
// its /64): first comes the owner who holds least of the pool, and of one owner's frames
// the oldest. So whoever fills a pool, with however many connections, delays others by
// what some of them take to finish or to be ended, once for each step of a frame.
//
// While somebody waits the lookout looks every 25 ms for those who hold up the others.
// A frame keeps its memory until its answer is written; while somebody waits, a peer
// must take a piece of that (64 KiB, or all of a shorter one) in each second. A request
// that waits for others (Request.Park) either gives it back before (Request.DropFrame:
// JoinGroup, SyncGroup), or its wait ends when somebody waits for memory (Fetch, which keeps
// no more than it needs to wait (Request.Keep), answers with what there is, and drops its
// frame then: records may take long). Which ones end at a look (recall):
//
//	the one in the seat, which is for those who go on
//	of owners who hold more than a waiting one will   512 KiB, until they hold as much as each other
//	of the others, parked for a second or longer      128 KiB
//
// So owners have fair parts soon, and those of one owner do not end each other all the
// time, which would be work for nothing. While somebody waits, frames up to 4 KiB that
// are decoded are lent their memory before they are read: the bytes of ten thousand that
// wait would be more than the pool.
//
// Records of an answer need no memory where the peer is on a plain socket: the
// kernel sends them from the file (outlet.SendFile). Any other transport, such as
// one that encrypts, is given the bytes.
//
// # Time limits
//
//	a connection at rest, or a small frame begun    Options.IdleTimeout since the last answer
//	not past handshake and authentication           Options.LoginTimeout since accept
//	a frame above 4 KiB                             160 KiB in each 10 s
//	a smaller one that was lent memory unread       100 ms, then it gives it back and has its time
//	an answer                                       Options.WriteTimeout without a byte taken
//
// Deadlines of the sockets are armed lazily: one that fires early is compared
// with what is due and armed again, so that a request costs no timer. Those of
// writes fire eight times within the patience there is: what a call has moved is
// known when it ends, and may only have filled room that the kernel had. Bytes
// are taken when the peer has acknowledged them, where the kernel says so (TCP_INFO
// of Linux). A peer that takes no more is closed up to an eighth of the patience
// later than its last byte tells. Kernels acknowledge by steps where a window was
// full, of up to a sixteenth of the peer's buffer or 64 KiB: a peer is slow, and
// not stalled, that takes a step within the patience.
//
// # Peers that go away
//
// While nothing is read (a parked request, a mute, a wait for memory) one
// goroutine, the lookout, asks every 750 ms whose peers have gone. An end of file or
// a reset ends the connection's context, also when requests wait in the socket
// before it: nobody is there to take their answers, and they must cost the user
// nothing. Where thousands have gone, 32 end every 2 ms. On Linux every connection
// is registered once with an epoll instance that hears of nothing else, so a look
// costs one system call however many are muted. Elsewhere, and where registering
// fails, the lookout peeks for one byte in each socket without taking it, and an end
// of file behind data is found when the data is read.
//
// # Stopping
//
// When the context of Run ends, listeners and refused connections close, mutes
// and parked requests end, answers in flight are finished with a shorter
// patience for peers that take no bytes, 2 s from then (2.25 s at the most), and
// every connection closes. Peers that take some have until Options.DrainTimeout;
// what is left then is cut.
//
// # Locks
//
// Server.mu guards the set of connections; memory.mu, outbox.mu, porch.mu, crowd.mu
// and Repeats.mu are leaves. None is held across a wait, and none is taken while
// another is held.
package server
