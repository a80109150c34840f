package segment

import (
	"errors"
	"fmt"
	"math"
	"time"

	"kaasd/internal/storage/vfs"
)

// Options are what a Store is run with. Names in the comments are those of the
// broker's properties.
type Options struct {
	FS  vfs.FS
	Dir string // data.dir

	NodeID    int32  // node.id; a folder of another node is refused
	ClusterID string // cluster.id; empty: the folder's, or a new one

	FlushInterval      time.Duration // log.flush.interval.ms
	FlushThreads       int           // log.flush.threads: syncs at once
	DiskReserve        int64         // log.disk.reserve, in bytes
	CheckpointInterval time.Duration // log.flush.offset.checkpoint.interval.ms
	RetentionInterval  time.Duration // log.retention.check.interval.ms
	ProducerExpiry     time.Duration // producer.id.expiration.ms
	MaxOpenSegments    int           // log.max.open.segments: files kept open, idle ones
	MostOpenSegments   int           // with so many open, what opens another waits for the sync of one; 0: no bound
	IndexCacheBytes    int64         // log.index.cache.bytes: of sealed segments
	ColdThreads        int           // fetch.cold.threads: reads of old segments at once

	// Memory is what the process may use, in bytes (memory.limit), of which what
	// logs remember of idempotent producers has a share; 0: not known.
	Memory int64

	// StrictTopics are the topics whose logs are opened with Config.Strict:
	// the start does not touch them before they are.
	StrictTopics []string

	// Recovering, when set, is told at the start how far the check of the
	// logs is, when the last stop was not clean. It may be called by several
	// goroutines at once.
	Recovering func(Recovery)
}

// Recovery is how far the check of the logs is.
type Recovery struct {
	Done, Total int    // partitions
	Reading     string // folder of the one whose check began last
}

// DefaultOptions are Kafka's values where it has them; Dir must be set.
func DefaultOptions() Options {
	return Options{
		FS:                 vfs.OS(),
		NodeID:             1,
		FlushInterval:      time.Second,
		FlushThreads:       16,
		DiskReserve:        256 << 20,
		CheckpointInterval: time.Minute,
		RetentionInterval:  5 * time.Minute,
		ProducerExpiry:     24 * time.Hour,
		MaxOpenSegments:    openSegmentsOf(vfs.Descriptors()),
		MostOpenSegments:   int(min(vfs.Descriptors()/2, math.MaxInt32)),
		IndexCacheBytes:    32 << 20,
		ColdThreads:        32,
		StrictTopics:       []string{"__kaasd_metadata"},
	}
}

// openSegmentsOf is how many files are kept open with so many descriptors (0: not
// known): what connections leave, but for the sockets of those that are refused.
func openSegmentsOf(descriptors uint64) int {
	const least, most = 16, 4096
	if descriptors == 0 {
		return most
	}
	return int(min(max(descriptors/16*3, least), most))
}

// producers is how many all logs may remember: a sixteenth of the memory is theirs,
// but 16 MiB to 1 GiB.
func (o *Options) producers() int64 {
	const part, least, unknown, most = 16, 16 << 20, 64 << 20, 1 << 30
	if o.Memory == 0 {
		return unknown / producerBytes
	}
	return min(max(o.Memory/part, least), most) / producerBytes
}

// Validate reports everything that is wrong.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, name string, value any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, it must be above zero", name, value))
		}
	}
	check(o.FlushInterval > 0, "log.flush.interval.ms", o.FlushInterval)
	check(o.FlushThreads > 0, "log.flush.threads", o.FlushThreads)
	check(o.CheckpointInterval > 0, "log.flush.offset.checkpoint.interval.ms", o.CheckpointInterval)
	check(o.RetentionInterval > 0, "log.retention.check.interval.ms", o.RetentionInterval)
	check(o.ProducerExpiry > 0, "producer.id.expiration.ms", o.ProducerExpiry)
	check(o.MaxOpenSegments > 0, "log.max.open.segments", o.MaxOpenSegments)
	check(o.IndexCacheBytes > 0, "log.index.cache.bytes", o.IndexCacheBytes)
	check(o.ColdThreads > 0, "fetch.cold.threads", o.ColdThreads)
	if o.Memory < 0 {
		errs = append(errs, fmt.Errorf("memory.limit is %d, it may not be negative", o.Memory))
	}
	if o.DiskReserve < 0 {
		errs = append(errs, fmt.Errorf("log.disk.reserve is %d, it may not be negative", o.DiskReserve))
	}
	if o.Dir == "" {
		errs = append(errs, errors.New("data.dir is empty"))
	}
	return errors.Join(errs...)
}
