package group

import (
	"errors"
	"fmt"
	"math"
	"time"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

// Options are what groups are run with. Names in the comments are those of
// the broker's properties. Nothing in them changes while the coordinator runs.
type Options struct {
	MinSession    time.Duration // group.min.session.timeout.ms
	MaxSession    time.Duration // group.max.session.timeout.ms
	InitialDelay  time.Duration // group.initial.rebalance.delay.ms
	MaxSize       int           // group.max.size: members of a group
	Retention     time.Duration // offsets.retention.minutes
	RetentionPass time.Duration // offsets.retention.check.interval.ms
	MaxMetadata   int           // offset.metadata.max.bytes

	// Memory is what the process may use, in bytes (memory.limit), of which the
	// members of all groups may keep a sixteenth and their offsets an eighth
	// (Options.room); 0: not known.
	Memory int64
	// Log is how the log is run: LogConfig of log.flush, which says when a
	// committed offset counts as written.
	Log storage.Config
	// SpareLog is how many bytes the log may hold beside what it must before
	// it is rewritten.
	SpareLog int64
	// MaxSeries is how many groups, and how many pairs of group and topic,
	// have metrics of their own.
	MaxSeries int
	// End is the high watermark of a partition, for the lag; nil: no lag.
	End func(id kafka.TopicID, partition int32) (int64, bool)
}

// DefaultOptions are Kafka's.
func DefaultOptions() Options {
	return Options{
		MinSession:    6 * time.Second,
		MaxSession:    30 * time.Minute,
		InitialDelay:  3 * time.Second,
		MaxSize:       math.MaxInt32,
		Retention:     7 * 24 * time.Hour,
		RetentionPass: 10 * time.Minute,
		MaxMetadata:   4096,
		Log:           LogConfig(storage.FlushInterval),
		SpareLog:      4 << 20,
		MaxSeries:     500,
	}
}

// Validate reports everything that is wrong.
func (o Options) Validate() error {
	var wrong []error
	check := func(ok bool, name string, value any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s: %v is too small", name, value))
		}
	}
	check(o.MinSession > 0, "group.min.session.timeout.ms", o.MinSession)
	check(o.MaxSession >= o.MinSession, "group.max.session.timeout.ms", o.MaxSession)
	check(o.InitialDelay >= 0, "group.initial.rebalance.delay.ms", o.InitialDelay)
	check(o.MaxSize > 0, "group.max.size", o.MaxSize)
	check(o.Retention > 0, "offsets.retention.minutes", o.Retention)
	check(o.RetentionPass > 0, "offsets.retention.check.interval.ms", o.RetentionPass)
	check(o.MaxMetadata >= 0, "offset.metadata.max.bytes", o.MaxMetadata)
	check(o.Memory >= 0, "memory.limit", o.Memory)
	return errors.Join(wrong...)
}
