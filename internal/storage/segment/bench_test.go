package segment

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

var benchSizes = map[string]int{"1KiB": 1 << 10, "64KiB": 64 << 10, "1MiB": 1 << 20}

// sized is a batch of about that many bytes.
func sized(size int) record.Batch {
	b := record.NewBuilder(record.None)
	for n := 0; n < size; n += 1024 {
		b.Add(noon.UnixMilli(), nil, []byte(strings.Repeat("x", 1000)))
	}
	return b.Batch()
}

func benchLog(b *testing.B, flush storage.Flush) *Log {
	o := testOptions(vfs.OS(), b.TempDir())
	s := openStore(b, o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	c := plain()
	c.Flush, c.SegmentBytes = flush, 256<<20
	return openLog(b, s, c)
}

// trim keeps the disk from filling up, off the clock.
func trim(b *testing.B, l *Log) {
	if l.Size() > 1<<30 {
		b.StopTimer()
		if _, err := l.DeleteRecords(-1); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, size := range benchSizes {
		b.Run(name, func(b *testing.B) {
			l := benchLog(b, storage.FlushOS)
			batch := sized(size)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Append(batch, noon); err != nil {
					b.Fatal(err)
				}
				trim(b, l)
			}
		})
	}
}

// BenchmarkAppendAlways is one writer that waits for its commit.
func BenchmarkAppendAlways(b *testing.B) {
	l := benchLog(b, storage.FlushAlways)
	batch := sized(64 << 10)
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		a, err := l.Append(batch, noon)
		if err == nil {
			err = l.Wait(context.Background(), a.NextOffset)
		}
		if err != nil {
			b.Fatal(err)
		}
		trim(b, l)
	}
}

// BenchmarkRead is a reader in order, that asks for one batch, for 1 MiB, and
// for batches of 1 KiB by the 64 KiB.
func BenchmarkRead(b *testing.B) {
	tests := map[string]struct{ batch, ask int }{
		"64KiB": {64 << 10, 80 << 10}, "1MiB": {1 << 20, 1200 << 10}, "64x1KiB": {1 << 10, 64 << 10},
	}
	for name, tt := range tests {
		b.Run(name, func(b *testing.B) {
			l := benchLog(b, storage.FlushOS)
			for range (64 << 20) / tt.batch {
				if _, err := l.Append(sized(tt.batch), noon); err != nil {
					b.Fatal(err)
				}
			}
			offset, bytes, reads := int64(0), int64(0), int64(0)
			b.ReportAllocs()
			for b.Loop() {
				s, err := l.Read(storage.Read{Offset: offset, MaxBytes: tt.ask, AtLeast1: true})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Records.WriteTo(discard{}); err != nil {
					b.Fatal(err)
				}
				bytes, reads = bytes+int64(s.Records.Size()), reads+1
				s.Records.Release()
				if offset = s.Next; offset == s.Offsets.End {
					offset = 0
				}
			}
			b.SetBytes(bytes / reads)
		})
	}
}

// BenchmarkStart is the opening of a data folder after a clean stop.
func BenchmarkStart(b *testing.B) {
	for _, partitions := range []int32{0, 10_000} {
		b.Run(fmt.Sprint(partitions, " partitions"), func(b *testing.B) {
			o := testOptions(vfs.OS(), b.TempDir())
			s := openStore(b, o)
			for p := range partitions {
				l, err := s.Open(kafka.TopicPartition{Topic: "many", Partition: p}, ordersID, plain())
				if err != nil {
					b.Fatal(err)
				}
				if _, err := l.Append(batch(1, 0, "x"), noon); err != nil {
					b.Fatal(err)
				}
			}
			stop(b, s)
			b.ReportAllocs()
			for b.Loop() {
				s := openStore(b, o)
				b.StopTimer()
				stop(b, s)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkRecover is the start after a kill with 1 GiB that was not synced.
func BenchmarkRecover(b *testing.B) {
	o := testOptions(vfs.OS(), b.TempDir())
	s := openStore(b, o)
	c := plain()
	c.Flush = storage.FlushOS
	l := openLog(b, s, c)
	part := sized(64 << 10)
	for range 1 << 30 / len(part) {
		if _, err := l.Append(part, noon); err != nil {
			b.Fatal(err)
		}
	}
	kill(s)
	b.SetBytes(1 << 30)
	for b.Loop() {
		s := openStore(b, o)
		if s.logs[orders].end.Load() == 0 {
			b.Fatal("nothing was recovered")
		}
		b.StopTimer()
		kill(s)
		b.StartTimer()
	}
}

// BenchmarkLookup is ListOffsets by a timestamp in a log of sealed segments.
func BenchmarkLookup(b *testing.B) {
	o := testOptions(vfs.Memory(), "/data")
	s := openStore(b, o)
	c := plain()
	c.SegmentBytes = 1 << 20
	l := openLog(b, s, c)
	for i := range 16_000 {
		if _, err := l.Append(batch(10, int64(i)*10, "some value"), noon.Add(time.Duration(i))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		if t, err := l.OffsetFor(i * 7919 % 160_000); err != nil || t.Offset < 0 {
			b.Fatal(t, err)
		}
	}
}
