package metadata

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage"
)

// replay applies the whole log to an image.
func (s *Store) replay(ctx context.Context, empty *Image) (*Image, error) {
	d := empty.edit()
	next, err := storage.Replay(ctx, s.log, func(r record.Record) error { return s.replayRecord(d, r) })
	if err != nil {
		return nil, err
	}
	if next < s.log.Offsets().End {
		return nil, fmt.Errorf("offset %d: the log ends before its end", next)
	}
	return d.done(), nil
}

func (s *Store) replayRecord(d *Draft, r record.Record) error {
	kind := string(r.Key)
	c, known, err := decode(kind, r.Value)
	if !known {
		s.logger.Warn("metadata change of an unknown kind is skipped", zap.String("kind", kind), zap.Int64("offset", r.Offset))
		return nil
	}
	if err == nil {
		err = c.apply(d)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}
