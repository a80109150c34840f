// Package storage is the partition log as the house sees it: the contracts
// Store and Log, what reads a log of changes back (Replay), and nothing that
// touches a disk. The logs themselves are in storage/segment.
//
// What a log promises:
//
//  1. Offsets are dense at append, never used again while the log lives, and
//     returned only after the batch can be read back by this process.
//  2. Two appends to one log are never interleaved.
//  3. The high watermark is the end of what consumers may see: the log's end,
//     or under FlushAlways the end of what is synced.
//  4. After a crash of the process nothing acknowledged is missing.
//  5. After a power cut: FlushAlways loses nothing acknowledged;
//     FlushInterval at most the last interval and the time of one sync;
//     FlushOS what the kernel had not written.
//  6. What recovery cannot verify it cuts off, from the first bad batch to
//     the end, and the leader epoch is raised, so that consumers notice. A
//     Strict log refuses to open when good batches follow a bad one, or when
//     what was synced is missing.
//  7. A failed sync is final for its log until restart.
//  8. A full disk refuses appends and keeps serving reads.
package storage
