package storage

import (
	"bytes"
	"context"
	"fmt"

	"kaasd/internal/codec/record"
)

// replayBytes is how much of a log is read at a time.
const replayBytes = 1 << 20

// Replay tells every record of a log that is the record of something, from its
// start to where it ends now, and gives the offset behind the last. That is
// below the log's end when a power cut has taken the last batches and left
// their offsets used. Keys and values are valid during the call. An error, also
// of each, names the offset.
func Replay(ctx context.Context, log Log, each func(record.Record) error) (next int64, err error) {
	end := log.Offsets().End
	if err := log.Wait(ctx, end); err != nil {
		return 0, err
	}
	at := log.Offsets().Start
	var chunk bytes.Buffer
	for at < end {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := readChunk(log, at, &chunk); err != nil {
			return 0, fmt.Errorf("offset %d: %w", at, err)
		}
		if chunk.Len() == 0 {
			break
		}
		if at, err = replayChunk(at, chunk.Bytes(), each); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// readChunk reads whole batches from an offset on, at least one where there is
// one.
func readChunk(log Log, at int64, chunk *bytes.Buffer) error {
	chunk.Reset()
	slice, err := log.Read(Read{Offset: at, MaxBytes: replayBytes, AtLeast1: true})
	if err != nil {
		return err
	}
	if slice.Records == nil {
		return nil
	}
	defer slice.Records.Release()
	chunk.Grow(slice.Records.Size())
	_, err = slice.Records.WriteTo(chunk)
	return err
}

// replayChunk tells the batches of a chunk and gives the offset behind them.
func replayChunk(at int64, chunk []byte, each func(record.Record) error) (int64, error) {
	for len(chunk) > 0 {
		batch, rest, err := record.Next(chunk)
		if err == nil {
			err = batch.Check()
		}
		if err != nil {
			return 0, fmt.Errorf("offset %d: %w", at, err)
		}
		for r, err := range batch.Records() {
			if err == nil && r.Offset >= at {
				err = each(r)
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
