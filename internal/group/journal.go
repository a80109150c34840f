package group

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

// LogPartition names the log that offsets and members are kept in. No topic of
// a client may have the name.
var LogPartition = kafka.TopicPartition{Topic: "__kaasd_groups", Partition: 0}

// LogID is the topic id of that log, the same in every folder.
var LogID = kafka.TopicID{15: 2}

// LogConfig is how the log is run. Nothing expires in it; segments are small,
// because only whole ones are given back after a rewrite.
func LogConfig(flush storage.Flush) storage.Config {
	return storage.Config{
		Flush:              flush,
		SegmentBytes:       2 << 20,
		SegmentAge:         -1,
		IndexIntervalBytes: 64 << 10,
		RetentionAge:       -1,
		RetentionBytes:     -1,
	}
}

// journal is the log of changes. It is rewritten, from the groups as they are,
// when it holds much more than it must.
type journal struct {
	log   storage.Log
	cfg   storage.Config
	size  atomic.Int64  // bytes of batches, about
	limit atomic.Int64  // the size to be rewritten at
	full  chan struct{} // holds a token when the limit is passed
}

func newJournal(log storage.Log, o *Options) *journal {
	j := &journal{log: log, cfg: o.Log, full: make(chan struct{}, 1)}
	j.limit.Store(o.SpareLog)
	return j
}

// append writes changes as one batch: all of them are there after a crash, or
// none. It gives the offset that wait takes.
func (j *journal) append(now time.Time, changes ...change) (int64, error) {
	b := record.NewBuilder(record.None)
	for _, c := range changes {
		value, err := encode(c)
		if err != nil {
			return 0, err
		}
		b.Add(now.UnixMilli(), []byte(c.kind()), value)
	}
	batch := b.Batch()
	at, err := j.log.Append(batch, now)
	if err != nil {
		return 0, fmt.Errorf("append to the log of groups: %w", err)
	}
	if j.size.Add(int64(len(batch))) > j.limit.Load() {
		select {
		case j.full <- struct{}{}:
		default:
		}
	}
	return at.NextOffset, nil
}

// wait returns when everything below an offset counts as written.
func (j *journal) wait(ctx context.Context, offset int64) error {
	if j.cfg.Flush != storage.FlushAlways {
		return nil
	}
	if err := j.log.Wait(ctx, offset); err != nil {
		return fmt.Errorf("sync the log of groups: %w", err)
	}
	return nil
}

// sync makes everything appended so far durable, whatever log.flush is.
func (j *journal) sync(ctx context.Context, now time.Time) error {
	always := j.cfg
	always.Flush = storage.FlushAlways
	j.log.Configure(always)
	defer j.log.Configure(j.cfg)
	end, err := j.append(now, &rewritten{}) // so that there is something to wait for
	if err == nil {
		err = j.log.Wait(ctx, end)
	}
	if err != nil {
		return fmt.Errorf("sync the log of groups: %w", err)
	}
	return nil
}

// rewrite has everything written once more, makes that durable, and lets go of
// what lies before it. At every moment the log holds the old or the new, or
// both; reading both leads to the same.
func (j *journal) rewrite(ctx context.Context, now time.Time, everything func() error) error {
	from, before := j.log.Offsets().End, j.size.Load()
	if err := everything(); err != nil {
		return err
	}
	if err := j.sync(ctx, now); err != nil {
		return err
	}
	if _, err := j.log.DeleteRecords(from); err != nil {
		return fmt.Errorf("shorten the log of groups: %w", err)
	}
	j.size.Add(-before)
	return nil
}
