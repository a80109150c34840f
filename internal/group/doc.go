// Package group is the coordinator of consumer groups: who is a member, who
// reads what, and how far each group has read. It speaks the classic protocol.
//
// What passes through: a member's requests, with the time, go in; what comes
// back is an answer, or a Future that is answered when the other members have
// had their say. Nothing here knows the wire.
//
// # Machine
//
// A group is a pure machine (machine), told what happens and when, without a
// goroutine, a clock or a disk. It says when it wants to be woken (due), which
// may be early and is never late: a heartbeat only moves a deadline back, and
// costs no timer.
//
//	Empty --join--> PreparingRebalance --all joined, or time is up--> CompletingRebalance
//	  ^                |   ^                                              |
//	  |   nobody left  |   |  join, leave, a session ends                 | the leader's sync
//	  +----------------+   +----------------- Stable <--------------------+
//
// While PreparingRebalance joins wait, while CompletingRebalance syncs do; who
// waits need not send heartbeats. An id that was promised to a new member
// (MemberIDRequired) is waited for like a member. The leader is the first
// member, and stays it while it is one. Static members (KIP-345) keep their
// place while their session lasts: the next life of one takes over the id
// without a rebalance, and the last life is fenced.
//
// # Holds
//
// A connection that is throttled is not read, so a member that shares its
// connection with what is throttled cannot say that it is alive. That is the
// broker's doing, and must not cost the group a rebalance: while such a connection
// is not read the member's session stands still (Hold), and then has as long to go
// as it had. A member that speaks on another connection meanwhile, begins anew as
// ever.
//
//	heartbeat    throttled, 25 s      read again
//	    |-- 3 s --|===== held =====|---- 7 s ----| session of 10 s ends
//
// Nothing else stands still. A rebalance waits for a member that is held as long
// as for any other, since the rest of the group stands still with it, and the
// connection that goes away ends the hold: a member that is gone is found out one
// session of reading later. A connection that is read only now and then makes a
// dead member's session last longer by as much as it is not read.
//
// # Room
//
// What members tell of themselves, and the assignments, may fill a request each.
// All groups share one account of these bytes (account), with names, ids that are
// promised, and what each thing takes besides. A group knows what it keeps, and
// how much more after a join or a sync (weight.go); the coordinator takes the room
// for that first, and settles the account after each event. Who finds no room is
// refused: a join with GroupMaxSizeReached, the leader's sync with MessageTooLarge,
// which clients take for the end instead of trying again at once.
//
// A member that comes back with what it had is never refused, nor are assignments
// as large as the last ones: those bytes stay the group's until the next ones, or until nobody is left. What
// a start reads back is counted, also where there is no room for it any more.
//
// Committed offsets have an account of their own, with the groups that are there though
// nobody may be in them. A commit that adds something finds room first, or is refused
// with InvalidCommitOffsetSize; so does the first join of a group, which may leave the
// group behind. What is committed again, with no more metadata, is never refused.
//
// # Journal
//
// Offsets and members are kept in an ordinary storage.Log (LogPartition), run
// with LogConfig. A record is one change:
//
//	key    the kind of the change, such as OffsetsCommitted
//	value  version u8, and the fields as in change.go, written by codec
//
// A commit is one record in one batch: all its partitions or none. It is
// written, then visible, and acknowledged once it counts as written (log.flush).
// Members are written down when a group becomes stable or empty, so that a
// restart costs no rebalance; nobody waits for that, because what is lost with
// it is one rebalance.
//
// The log holds every commit until it is rewritten: when it is larger than twice
// what must be kept and some MiB, every group is written once more, under its
// lock, at the end of the log; that is synced whatever log.flush says; and only
// then does the log's start move behind what was there before. So at each moment
// reading the log from its start gives what was acknowledged, and a start reads
// a bounded number of bytes.
//
// Where a power cut has taken what was not synced, the offsets of that time are
// older than the client was told. Never is one newer.
//
// # Offsets
//
// An offset belongs to one life of a topic, by its id. They go with the topic
// (DropTopics), when they are removed, with the group, or when nobody has asked
// for them for offsets.retention.minutes: in a group without members since the
// last has left or since a later commit, in one that was never more than a place
// to keep offsets since the commit, in one with members where nobody reads the
// topic.
//
// # Locks
//
//	group.mu         one event at a time; covers the append of what follows
//	Coordinator.mu   the map of groups; never held while taking group.mu
//	timers.mu        a leaf
//
// are taken in this order. No lock is held while waiting for a member or for a
// sync. A group that is removed is Dead before its lock is released, and who
// still finds it looks again.
package group
