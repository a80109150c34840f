package record

import (
	"testing"
)

// batchOf is a batch of n records with values of size bytes.
func batchOf(n, size int) Batch {
	b := NewBuilder(None)
	value := make([]byte, size)
	for range n {
		b.Add(fair.Now, nil, value)
	}
	return b.Batch()
}

func BenchmarkValidate(bench *testing.B) {
	for _, c := range []struct {
		name    string
		n, size int
	}{{"1x100B", 1, 100}, {"1000x16B", 1000, 16}, {"1000x1KiB", 1000, 1024}} {
		bench.Run(c.name, func(bench *testing.B) {
			b := batchOf(c.n, c.size)
			bench.SetBytes(int64(len(b)))
			bench.ReportAllocs()
			for bench.Loop() {
				if _, _, err := Validate(b, fair); err != nil {
					bench.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecords(bench *testing.B) {
	b := batchOf(1000, 100)
	bench.SetBytes(int64(len(b)))
	bench.ReportAllocs()
	for bench.Loop() {
		for _, err := range b.Records() {
			if err != nil {
				bench.Fatal(err)
			}
		}
	}
}

func BenchmarkOpen(bench *testing.B) {
	plain := batchOf(100, 1000)
	for c := Gzip; c <= Zstd; c++ {
		bench.Run(c.String(), func(bench *testing.B) {
			b, err := Recompress(plain, c)
			if err != nil {
				bench.Fatal(err)
			}
			bench.SetBytes(int64(len(plain)))
			bench.ReportAllocs()
			for bench.Loop() {
				if _, err := b.open(); err != nil {
					bench.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTimes(bench *testing.B) {
	plain := batchOf(100, 1000)
	for c := None; c <= Zstd; c++ {
		bench.Run(c.String(), func(bench *testing.B) {
			b, err := Recompress(plain, c)
			if err != nil {
				bench.Fatal(err)
			}
			bench.SetBytes(int64(len(plain)))
			bench.ReportAllocs()
			for bench.Loop() {
				for _, err := range b.Times() {
					if err != nil {
						bench.Fatal(err)
					}
				}
			}
		})
	}
}
