// Package handlers answers requests: one file per API, named as in
// codec/message, and around them what every request passes through.
//
//	server  --frame-->  session.Admit   is the frame small enough?
//	                    session.Serve   which route, may it be called yet?
//	                    route           decode, handle, encode
//	server  <-Answer--
//
// table.go is the index of what kaasd speaks: ApiVersions is answered from it,
// and a key or version that is not in it closes the connection, with the one
// exception of an ApiVersions version that is too new.
//
// A session is one connection. It knows who is on the other end (session.go;
// the SASL log-in is sasl.go) and the quota client that its requests are
// charged to. A call is one request on its way, with all that an API's method
// may need: the header, one image of the metadata for the whole request, the
// answer it is going to be. Sessions serve one request at a time, so a session
// holds the one call it needs.
//
// An API's method puts what went wrong into the smallest place of its response
// that has an error field, with call.code, which also counts it. A method that
// returns an error says that the connection is beyond use. A panic in a method
// closes the connection, is logged and counted; a panic that comes out of
// storage, metadata or a group ends the process, because what is on disk must
// not be guessed at.
//
// The APIs that move records share a little state, each behind a lock of its own
// that is never held together with another of them, nor across a wait:
//
//	logs           which log belongs to a partition; follows the metadata
//	fetchSessions  what consumers read (KIP-227)
//	producerIDs    what is left of the reserved block
//
// Joins and syncs of group members wait for other members. Like a fetch that
// waits for records they park their connection, and a peer that goes away, or
// the stop of the server, ends the wait; what becomes of the member is the
// group's business.
//
// Only one request at a time plans a commit of the metadata. Who may change what
// is decided before (the right to a name does not hang on the metadata, and an id
// has its name for good), and a request of which nothing is left does not come
// to it: whoever may change nothing keeps nobody waiting.
//
// What a request names twice is answered once, and what it may name is bounded
// (distinct.go), so that a small request cannot have a large answer.
//
// Otherwise Handlers has collaborators and no state that outlives a request,
// so that all of it may be called together.
//
// # Quotas
//
// Four of the five kinds are charged here; the fifth, of connections, at accept.
//
//	produce   the frame as a whole, after the append, whatever became of it
//	fetch     taken before records are handed out, paid when the answer is encoded
//	mutation  partitions, one topic after the other, in the plan of the commit
//	request   the time that all of it took
//
// A fetch finds what there is (no byte is read), waits for more if it must, takes
// at most the balance, and pays when the size of its answer is known
// (call.settle). Mutations are judged where nobody else commits, after what else
// is wrong with a topic; so a charge must not wait for somebody who commits. Work
// (work.go) is charged just before the answer is encoded, so that the answer can
// tell the throttle; what comes after is owed by the session until its next
// request. Waiting for records or for a commit is no work.
//
// Each quota counts what it decides. The longest throttle of a request is
// announced, if the answer has the field, and mutes the connection, once, in any
// version; what the others found stays owed. Only the byte quota of a fetch makes
// an answer empty.
package handlers
