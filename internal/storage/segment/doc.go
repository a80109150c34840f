// Package segment is the partition log as files: the Store and the Log of
// package storage.
//
// The folder of one broker; names and formats of a partition's files are Apache
// Kafka's where it has them, so that its tools read them:
//
//	<data>/
//	  LOCK                          flock, with the holder's process id
//	  meta.properties               version, cluster.id, node.id, leader.epoch, created.ms
//	  clean                         written last by a clean stop, removed first at start
//	  checkpoint                    a line for each log, see below
//	  <topic>-<partition>/
//	    partition.metadata          topic id
//	    <base>.log                  batches as produced, offset and epoch stamped
//	    <base>.index                offset-base u32, position u32
//	    <base>.timeindex            largest timestamp so far i64, offset-base u32
//	    <offset>.snapshot           producer ids and sequences at that offset
//	    leader-epoch-checkpoint     epoch and first offset, a pair per line
//	    log-start-offset-checkpoint what DeleteRecords made the start; often missing
//	    <base>.<position>.cut       bytes that recovery cut off
//	  <topic>-<partition>.<uuid>-delete/   waits to be unlinked
//
// base and offset are 20 digits. Integers in files are big-endian. An index
// entry holds the last offset of the batch at its position, a time entry the
// last offset of the batch that first reached its timestamp.
//
// A line of the checkpoint, fields parted by tabs, between a title and a line
// with the CRC-32C of all before it:
//
//	id folder start recovery end size epoch bytes oldest base,base,...
//
// recovery is the offset below which all is synced, size that of the active
// file, bytes of all files, oldest the newest timestamp of the first segment.
// The checkpoint is a hint: an older or a missing one makes recovery read more.
//
// A snapshot names the producers in the order in which they wrote last; Kafka reads the first part and does not mind the second, which
// keeps the batches before each producer's last, so that a retry of any of the
// five is known after a restart:
//
//	version i16 | crc32c of all behind it | count i32
//	count x: id i64, epoch i16, last sequence i32, last offset i64,
//	         offset delta i32, timestamp i64, -1 i32, -1 i64
//	"ka" 5 0 | count x: n u8, n x (first, last sequence i32, base, next offset,
//	         timestamp i64)
//
// # What is durable, and when
//
// Log.sync makes, in this order, durable: the epochs, each segment sealed since
// the last sync with its index files and its producer snapshot, the active
// segment, the names in the folder, the folder. Then the recovery point moves.
// So whatever lies below it needs no check, and an index file beside a segment
// below it is whole. Under FlushAlways the high watermark follows it.
//
// A clean stop syncs every log, writes the index files and the snapshot of
// active segments that would be long to walk, then the checkpoint, then the
// marker. Nothing else is written at a start than meta.properties.
//
// The leader epoch of every log is one counter in meta.properties, raised by
// each start before anything else is written. A log notes it with its first
// batch of that epoch. No start's epoch is below the age of the folder in
// minutes: clients ignore what has a lower epoch than they have seen of the same
// topic id, for ever, and a folder that comes back from a backup knows nothing of
// the epochs after it. A folder that was started more than once a minute on
// average, from the backup to its loss, is ahead of that.
//
// # Descriptors
//
// A file that could not be opened for want of a descriptor has lost nothing: the
// call is refused with an error that clients try again, and a sync is put off; no
// log goes out of service. Idle files are closed first. Files that must be synced
// before they may be closed are as many as logs that are written to between two
// passes of the flush: where they take half of the descriptors, whoever opens one
// more first syncs and closes another.
//
// # Producers
//
// All logs together remember a bounded number of producers, a share of the memory,
// and one log 65536 (census.go). A new one beyond that has another forgotten, the one
// that was silent for longest, of the log that it came to or of a larger one; what a
// forgotten producer sends is taken as that of one that expired. A roll whose
// snapshot would wait for a slow disk with many others writes none, and a recovery
// writes the newest alone: the start after it reads more of the log.
//
// # Locks
//
//	Log.flushing   held over a sync, by the one who syncs
//	Log.mu         append, roll, the list of segments; may cover a write
//	segment.mu     the open file and its users
//	segment.idxMu  the live index
//	Store.mu, files.mu, indexCache.mu, waits.mu, committer.mu, census.mu: leaves
//
// are taken in this order. files.mu tries segment.mu and never waits for it. Who
// holds one Log.mu tries another, to forget a producer there, and never waits for it.
// Readers take none of the first two: the list of segments is replaced, never
// changed, and a segment that leaves it lives until its last reader has let
// go.
//
// The readable size of a segment is stored before the high watermark, and read
// after it: a reader finds all that the mark tells of. What it finds beyond that it
// tells of too.
package segment
