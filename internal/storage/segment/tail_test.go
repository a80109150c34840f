package segment

import (
	"testing"

	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// TestReadsAtTheTailTellOfNoMore: a read that has room for everything hands out all
// that it tells of, whatever is appended meanwhile: a fetch that waits for more
// bytes takes "there is more" for "one read gives no more".
func TestReadsAtTheTailTellOfNoMore(t *testing.T) {
	store := openStore(t, testOptions(vfs.Memory(), "/data"))
	defer stop(t, store)
	l := openLog(t, store, plain())
	appendBatch(t, l, batch(1, 1000, "first"))
	const last = 20_000
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		for range last {
			appendBatch(t, l, batch(1, 1000, "more"))
		}
	}()
	defer func() { <-appended }()
	for from := int64(0); from < last; {
		s, err := l.Read(storage.Read{Offset: from, MaxBytes: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if s.Records == nil {
			continue
		}
		s.Records.Release()
		if o := s.Offsets; s.Next != o.HighWatermark || o.LastStable != o.HighWatermark || o.End < o.HighWatermark {
			t.Fatalf("a range up to %d, and offsets %+v", s.Next, o)
		}
		from = s.Next
	}
}
