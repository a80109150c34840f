package metadata

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage"
)

// replayBytes is how much of the log is read at a time.
const replayBytes = 1 << 20

// replay applies the whole log to an image.
func (s *Store) replay(ctx context.Context, empty *Image) (*Image, error) {
	end := s.log.Offsets().End
	if err := s.log.Wait(ctx, end); err != nil {
		return nil, err
	}
	d := empty.edit()
	at := s.log.Offsets().Start
	for at < end {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		chunk, err := s.chunk(at)
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w", at, err)
		}
		if at, err = s.replayChunk(d, at, chunk); err != nil {
			return nil, err
		}
	}
	return d.done(), nil
}

// chunk reads whole batches from an offset on, at least one.
func (s *Store) chunk(at int64) ([]byte, error) {
	slice, err := s.log.Read(storage.Read{Offset: at, MaxBytes: replayBytes, AtLeast1: true})
	if err != nil {
		return nil, err
	}
	if slice.Records == nil {
		return nil, errors.New("the log ends before its end")
	}
	defer slice.Records.Release()
	var chunk bytes.Buffer
	chunk.Grow(slice.Records.Size())
	_, err = slice.Records.WriteTo(&chunk)
	return chunk.Bytes(), err
}

// replayChunk applies the batches of a chunk and gives the offset behind
// them.
func (s *Store) replayChunk(d *Draft, at int64, chunk []byte) (int64, error) {
	for len(chunk) > 0 {
		batch, rest, err := record.Next(chunk)
		if err != nil {
			return 0, fmt.Errorf("offset %d: %w", at, err)
		}
		if err := batch.Check(); err != nil {
			return 0, fmt.Errorf("offset %d: %w", at, err)
		}
		for r, err := range batch.Records() {
			if err == nil {
				err = s.replayRecord(d, r)
			}
			if err != nil {
				return 0, fmt.Errorf("offset %d: %w", r.Offset, err)
			}
		}
		if batch.NextOffset() <= at {
			return 0, fmt.Errorf("offset %d: a batch that ends at %d", at, batch.NextOffset())
		}
		at, chunk = batch.NextOffset(), rest
	}
	return at, nil
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
