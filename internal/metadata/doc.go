// Package metadata is the durable record of every admin change: topics,
// their partitions and configs, broker configs, quotas, SCRAM credentials,
// ACLs, reserved producer ids. There is one log and one image.
//
// The log is an ordinary storage.Log (LogPartition, run with LogConfig). A
// commit is one record batch in it; each record is one change:
//
//	key    the kind of the change, such as TopicCreated
//	value  the change as a JSON object; names keep bytes that are not UTF-8
//
// The Image is what the log adds up to: immutable, read without a lock through
// Store.Image, replaced by each commit. A commit copies what it touches and
// shares the rest, so that creating the ten thousandth topic costs
// microseconds beside the sync.
//
// What a commit promises:
//
//  1. Commits run one after the other; each is planned on the image that the
//     one before left behind.
//  2. All or nothing: a change that does not fit the image, or a log that
//     refuses the batch, leaves everything as it was.
//  3. The batch is synced, the image is published and every subscriber has
//     run before the call returns. What waits in a client is told "done" only
//     when it is true, in memory and on disk.
//  4. When the sync itself fails, nobody knows what is on the disk: the store
//     refuses every further change until the restart, which reads the log.
//
// Reading the log back at Open, a record of a kind that this version does not
// know is skipped and logged, so that a newer version's folder can still be
// opened; a known kind that cannot be decoded or does not fit ends the start
// with its offset, because a guess here would resurrect or lose a topic.
//
// # Rewrites
//
// The log would hold every change for ever. When a start must read more than twice
// what the last image takes and half a MiB (rewrite.go), the image is written behind
// the log's end, and then the log's start is moved there, which lets go of the
// segments before it:
//
//	| changes ... | ImageBegan, the whole image as changes | changes ... |
//	^ start: before                                        ^ end
//	              ^ start: after
//
// ImageBegan says that what came before does not count. It and its image are one
// batch, so that of an image all is there or nothing: a crash before the sync
// leaves the log as it was, one before the start is moved leaves both, and
// reading both leads to the same. The batch is as large as the image, 100 to 250
// bytes for most topics and quotas, and takes a few times that in memory while it is
// written.
//
// A rewrite is done by the commit that makes the log too large, once it is visible
// and before it returns, or by a start that finds it so. It takes the turn: with
// 10,000 topics and as many quotas that is below 0.1 s, once in as many changes. One
// that fails is put off until the log is twice as large; no commit is in doubt then.
//
// A log that does not begin at 0 must begin with an image, or the start ends: its
// head is missing. A log that holds what only a newer version can write, kinds or
// fields, is not rewritten: what is skipped may be about things that are gone, and
// only its own version can tell. Behind an image that such a version has written,
// it is again.
//
// The version before there were images skips ImageBegan and reads what follows it
// as plain changes: the same image where the start was moved; where it was not,
// which only a failure between the two leaves, an error (a topic exists already) or,
// without topics, the same values a second time.
//
// Whoever may make SCRAM credentials and ACLs could make any number of them, so a
// draft has room for so many (room.go); reading the log back, there is room for all.
//
// The configs that topics and brokers have (Kafka's names, types, defaults,
// limits) are one table, in config.go. A topic's settings are parsed once,
// when its image is made, and not on the way of a record.
//
// There is one turn (Store.turn), taken for a whole commit, and one lock for
// the list of subscribers, never held together. A subscriber must not commit.
package metadata
