package storage

import (
	"context"
	"io"
	"time"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// Store holds the logs of one broker. All methods may be called together.
type Store interface {
	// Open gives the log of a partition, and makes it when there is none.
	// Opening it again gives the same log and configures it anew. Nothing
	// is read or written before the log is first used.
	//
	// A folder that holds another topic id is KafkaStorageError.
	Open(tp kafka.TopicPartition, id kafka.TopicID, c Config) (Log, error)

	// Delete takes the log out of service at once: its readers, waiters
	// and appenders get UnknownTopicOrPartition. Its files are unlinked in
	// the background. Deleting what is not there is no error.
	Delete(tp kafka.TopicPartition, id kafka.TopicID) error

	// Partitions lists the logs the store holds, so that the assembly can
	// delete those that the metadata does not know.
	Partitions() []Partition

	// Run does the background work (flush, retention, checkpoint) until
	// ctx ends, then syncs everything and marks the folder clean. When it
	// returns every goroutine of the store has ended.
	Run(ctx context.Context) error
}

// Partition is one log that a store holds.
type Partition struct {
	kafka.TopicPartition
	ID kafka.TopicID
}

// Flush is when an appended batch counts as committed (log.flush).
type Flush uint8

// The flush modes.
const (
	FlushOS       Flush = iota // in the page cache; the kernel writes when it likes
	FlushInterval              // in the page cache; synced once per interval
	FlushAlways                // after the sync that covers it
)

// Config is what one log is run with. Every field may change while the log
// lives, through Log.Configure. Names are those of Kafka's topic configs.
type Config struct {
	Flush              Flush
	SegmentBytes       int64         // segment.bytes
	SegmentAge         time.Duration // segment.ms
	IndexIntervalBytes int           // index.interval.bytes
	RetentionAge       time.Duration // retention.ms; negative: no limit
	RetentionBytes     int64         // retention.bytes; negative: no limit
	AppendTime         bool          // message.timestamp.type=LogAppendTime
	// Strict ends the opening with an error when a damaged batch has good
	// ones behind it, instead of cutting them off, and when the log ends
	// before its start: for the metadata log.
	Strict bool
}

// Log is the log of one partition. All methods may be called together.
//
// Errors are *kafka.Error where a client may be told: KafkaStorageError,
// OffsetOutOfRange, OutOfOrderSequenceNumber, InvalidProducerEpoch,
// UnknownTopicOrPartition (deleted meanwhile), UnknownLeaderEpoch.
type Log interface {
	// Append writes one batch that record.Validate has passed. The batch is
	// stamped in place (base offset, leader epoch; with AppendTime also
	// the timestamp and checksum) and is not kept. Under FlushAlways the
	// batch counts once Wait says so.
	Append(b record.Batch, now time.Time) (Appended, error)

	// Wait returns when everything below offset is committed: at once
	// but under FlushAlways.
	Wait(ctx context.Context, offset int64) error

	// Read finds whole batches from the one that holds r.Offset on.
	Read(r Read) (Slice, error)

	// Watch registers a waiter and checks once more, so that no append
	// falls between; stop takes it off.
	Watch(w *Waiter, from int64) (stop func())

	Offsets() Offsets

	// OffsetFor finds the first record, in offset order, whose timestamp
	// (ms since the epoch) is at or above ts. None: offset and timestamp -1.
	OffsetFor(ts int64) (TimeOffset, error)

	// MaxTimestamp finds the first record with the largest timestamp.
	// Empty log: offset and timestamp -1.
	MaxTimestamp() (TimeOffset, error)

	// EpochEnd answers OffsetForLeaderEpoch: the largest epoch of this log
	// at or below the asked one, and the offset where it ends; -1, -1 when
	// there is none. The current epoch ends at the log's end.
	EpochEnd(epoch int32) (int32, int64)

	// DeleteRecords moves the log's start forward to offset, durably, and
	// gives the new start. -1 means the high watermark; above it is
	// OffsetOutOfRange; below the start changes nothing.
	DeleteRecords(offset int64) (int64, error)

	// Producers are the idempotent producers that are remembered, by id.
	Producers() ([]Producer, error)

	Configure(c Config)

	// Size is the bytes of all segments.
	Size() int64
}

// Producer is an idempotent producer that has written to a log.
type Producer struct {
	ID           int64
	Epoch        int16
	LastSequence int32
	LastWrite    int64 // timestamp of its last batch, ms since the epoch
}

// Appended says where a batch went.
type Appended struct {
	BaseOffset int64
	NextOffset int64 // Wait for this one under FlushAlways
	AppendTime int64 // ms since the epoch; -1 when the topic keeps CreateTime
	LogStart   int64
	Duplicate  bool // a retry of one of the last five batches: nothing was written
}

// Read asks for record bytes.
type Read struct {
	Offset    int64
	MaxBytes  int  // whole batches up to so many bytes
	AtLeast1  bool // the first batch is handed out even if it is larger
	Committed bool // up to the last stable offset instead of the high watermark
}

// Slice is what a Read found. Records is nil when there is nothing, and
// must be released otherwise.
type Slice struct {
	Records Records
	Next    int64   // the offset that follows the records
	Offsets Offsets // as of the read
}

// Records are whole batches, still in the log.
type Records interface {
	// Size is known before a byte is read.
	Size() int
	// WriteTo streams exactly Size bytes: from file to socket where both can,
	// else through one pooled buffer.
	io.WriterTo
	// Release lets go of the segments; once.
	Release()
}

// Offsets are the marks of a log at one moment.
type Offsets struct {
	Start         int64 // log start offset
	LastStable    int64
	HighWatermark int64 // end of what consumers may see
	End           int64
	Epoch         int32 // current leader epoch
}

// TimeOffset is a record found by its timestamp.
type TimeOffset struct {
	Offset    int64
	Timestamp int64 // ms since the epoch
	Epoch     int32
}
