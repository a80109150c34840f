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
// The configs that topics and brokers have (Kafka's names, types, defaults,
// limits) are one table, in config.go. A topic's settings are parsed once,
// when its image is made, and not on the way of a record.
//
// There is one turn (Store.turn), taken for a whole commit, and one lock for
// the list of subscribers, never held together. A subscriber must not commit.
package metadata
