package metadata

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

// Store keeps the image and the log behind it. All methods may be called
// together.
type Store struct {
	log    storage.Log
	logger *zap.Logger
	image  atomic.Pointer[Image]

	turn    chan struct{} // holds one token; who has it may commit
	broken  error         // under turn, as what follows: why nothing can be committed any more
	weight  int64         // of what a start reads of the log
	limit   int64         // the weight that the log is rewritten at
	foreign int           // changes in the log that this version cannot write again: it is not rewritten

	mu          sync.Mutex
	subscribers []func(old, new *Image)
}

// Open reads the metadata log back and makes the store of it. A log that
// holds what cannot be understood is an error that names the offset.
func Open(ctx context.Context, log storage.Log, o Options, logger *zap.Logger, reg prometheus.Registerer) (*Store, error) {
	s := &Store{log: log, logger: logger.Named("metadata"), turn: make(chan struct{}, 1)}
	o.Properties = maps.Clone(o.Properties)
	if o.Properties == nil {
		o.Properties = map[string]string{}
	}
	o.Properties["node.id"] = o.brokerName()
	image, err := s.replay(ctx, newImage(&o))
	if err != nil {
		return nil, fmt.Errorf("read the metadata log: %w", err)
	}
	s.image.Store(image)
	s.shrink(ctx)
	s.turn <- struct{}{}
	s.register(reg)
	return s, nil
}

// Image is the current image.
func (s *Store) Image() *Image { return s.image.Load() }

// End is the offset behind the last change.
func (s *Store) End() int64 { return s.log.Offsets().HighWatermark }

// Subscribe has f called with every new image, before the commit that made it
// returns, in order, one call at a time. f must not commit.
func (s *Store) Subscribe(f func(old, new *Image)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(slices.Clone(s.subscribers), f)
}

// Commit makes changes durable and then visible, all or none, and gives the
// image they led to. Errors are those of the changes (*kafka.Error), or
// KafkaStorageError.
func (s *Store) Commit(ctx context.Context, changes ...Change) (*Image, error) {
	return s.Update(ctx, func(d *Draft) error {
		for _, c := range changes {
			if err := d.Add(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Update commits the changes that plan adds to a draft of the current image;
// nobody else commits in between. An error of plan ends it; a draft without
// changes is no commit.
func (s *Store) Update(ctx context.Context, plan func(*Draft) error) (*Image, error) {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	old := s.Image()
	d := old.edit()
	if err := plan(d); err != nil || len(d.changes) == 0 {
		return old, err
	}
	if err := s.write(ctx, d.changes); err != nil {
		return old, err
	}
	next := d.done()
	s.publish(old, next)
	s.shrink(ctx)
	return next, nil
}

// Try runs a plan as Update would and commits nothing.
func (s *Store) Try(plan func(*Draft) error) error { return plan(s.Image().edit()) }

// write appends the changes as one batch and waits until it is synced.
func (s *Store) write(ctx context.Context, changes []Change) error {
	if s.broken != nil {
		return kafka.Hide(kafka.KafkaStorageError, s.broken)
	}
	at, err := s.append(ctx, changes)
	if err != nil {
		return err
	}
	// From here on the batch may be on disk, so that a caller who goes away
	// may no longer end the wait: what the restart would read must be
	// published.
	if err := s.log.Wait(context.WithoutCancel(ctx), at.NextOffset); err != nil {
		s.broken = fmt.Errorf("sync the metadata log: %w", err)
		s.logger.Error("metadata cannot be changed until restart", zap.Error(s.broken))
		return kafka.Hide(kafka.KafkaStorageError, s.broken)
	}
	return nil
}

// append writes the changes as one batch. What is before it must be synced: of two
// batches that are not, a power cut may take the first alone, and no start gets past
// the hole.
func (s *Store) append(ctx context.Context, changes []Change) (storage.Appended, error) {
	if err := s.log.Wait(ctx, s.log.Offsets().End); err != nil {
		return storage.Appended{}, kafka.Hide(kafka.KafkaStorageError, fmt.Errorf("sync the metadata log: %w", err))
	}
	now := time.Now()
	batch, weight, err := encode(changes, now)
	if err != nil {
		return storage.Appended{}, err
	}
	at, err := s.log.Append(batch, now)
	if err != nil {
		return at, kafka.Hide(kafka.KafkaStorageError, fmt.Errorf("append to the metadata log: %w", err))
	}
	s.weight += weight
	return at, nil
}

// maxBatch is how large a batch may become, in bytes: the format ends at twice
// that.
const maxBatch = 1 << 30

// encode makes the batch of some changes, and says what it weighs.
func encode(changes []Change, now time.Time) (batch record.Batch, weight int64, err error) {
	b := record.NewBuilder(record.None)
	for _, c := range changes {
		key := []byte(c.kind())
		value, err := json.Marshal(c)
		if err != nil {
			return nil, 0, fmt.Errorf("encode a %s: %w", key, err)
		}
		if weight += weigh(key, value); weight > maxBatch {
			return nil, 0, fmt.Errorf("%d changes are too large for one batch of %d bytes", len(changes), maxBatch)
		}
		b.Add(now.UnixMilli(), key, value)
	}
	return b.Batch(), weight, nil
}

func (s *Store) publish(old, next *Image) {
	s.image.Store(next)
	s.mu.Lock()
	subscribers := s.subscribers
	s.mu.Unlock()
	for _, f := range subscribers {
		f(old, next)
	}
}
