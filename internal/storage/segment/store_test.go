package segment

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"iter"
	"testing"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

var (
	orders   = kafka.TopicPartition{Topic: "orders", Partition: 0}
	ordersID = kafka.TopicID{1, 2, 3}
	noon     = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

// plain is a config with Kafka's defaults.
func plain() storage.Config {
	return storage.Config{Flush: storage.FlushInterval, SegmentBytes: 1 << 30, IndexIntervalBytes: 4096, RetentionAge: -1, RetentionBytes: -1}
}

func testOptions(fsys vfs.FS, dir string) Options {
	o := DefaultOptions()
	o.FS, o.Dir, o.DiskReserve = fsys, dir, 0
	return o
}

func openStore(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o, zap.NewNop(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stop closes a store as a broker would.
func stop(t testing.TB, s *Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// kill lets go of a store as the end of its process would.
func kill(s *Store) { s.lock.Close() }

func openLog(t testing.TB, s *Store, c storage.Config) *Log {
	t.Helper()
	l, err := s.Open(orders, ordersID, c)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*Log)
}

// batch has n records with a value each, ts apart by 1 ms from ts on.
func batch(n int, ts int64, value string) record.Batch {
	b := record.NewBuilder(record.None)
	for i := range n {
		b.Add(ts+int64(i), nil, []byte(value))
	}
	return b.Batch()
}

func appendBatch(t testing.TB, l storage.Log, b record.Batch) storage.Appended {
	t.Helper()
	a, err := l.Append(b, noon)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// values reads everything from offset on, and holds the offsets against the
// order.
func values(t testing.TB, l storage.Log, offset int64) []string {
	t.Helper()
	end, list := l.Offsets().HighWatermark, []string{}
	for at, v := range valuesAt(t, l, offset) {
		if at != offset {
			t.Fatalf("offset %d came, %d is next", at, offset)
		}
		offset++
		list = append(list, v)
	}
	if offset < end {
		t.Fatalf("the log ends at %d, reading ended at %d", end, offset)
	}
	return list
}

// valuesAt reads everything from offset on, with gaps where there are some.
func valuesAt(t testing.TB, l storage.Log, offset int64) iter.Seq2[int64, string] {
	return func(yield func(int64, string) bool) {
		for offset < l.Offsets().HighWatermark {
			for r := range readOnce(t, l, offset) {
				if r.Offset < offset {
					continue
				}
				if offset = r.Offset + 1; !yield(r.Offset, string(r.Value)) {
					return
				}
			}
		}
	}
}

// readOnce gives the records of one read, at least one.
func readOnce(t testing.TB, l storage.Log, offset int64) iter.Seq[record.Record] {
	return func(yield func(record.Record) bool) {
		s, err := l.Read(storage.Read{Offset: offset, MaxBytes: 1 << 20, AtLeast1: true})
		if err != nil || s.Records == nil {
			t.Fatalf("read at %d: %v", offset, err)
		}
		var buf bytes.Buffer
		n, err := s.Records.WriteTo(&buf)
		if err != nil || int(n) != s.Records.Size() || int(n) != buf.Len() {
			t.Fatalf("WriteTo: %d bytes of %d, %v", n, s.Records.Size(), err)
		}
		s.Records.Release()
		for rest := buf.Bytes(); len(rest) > 0; {
			var b record.Batch
			if b, rest, err = record.Next(rest); err == nil {
				err = b.Check()
			}
			for r, inside := range b.Records() {
				if err = errors.Join(err, inside); err != nil {
					t.Fatal(err)
				}
				if !yield(r) {
					return
				}
			}
		}
	}
}

var nop = zap.NewNop()

func crc(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// TestHighWatermark: asking for a log makes none.
func TestHighWatermark(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		l := openLog(t, s, plain())
		appendBatch(t, l, batch(2, noon.UnixMilli(), "x"))
		for id, want := range map[kafka.TopicID]bool{l.id: true, {99}: false} {
			if hw, ok := s.HighWatermark(l.tp, id); ok != want || ok && hw != 2 {
				t.Errorf("%v: %d, %v", id, hw, ok)
			}
		}
		if _, ok := s.HighWatermark(kafka.TopicPartition{Topic: "none"}, l.id); ok || len(s.Partitions()) != 1 {
			t.Errorf("there is a log: %v", s.Partitions())
		}
		stop(t, s)
	})
}
