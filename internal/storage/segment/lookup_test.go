package segment

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// stamped is one record of the model that the lookups are held against.
type stamped struct{ offset, ts int64 }

// randomLog appends batches with timestamps out of order, over many segments.
func randomLog(t *testing.T, l storage.Log, dice *rand.Rand) []stamped {
	t.Helper()
	codecs := []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd}
	var all []stamped
	for range 120 {
		b := record.NewBuilder(codecs[dice.IntN(len(codecs))])
		for range 1 + dice.IntN(6) {
			ts := 1000 + int64(len(all)) + dice.Int64N(300) - 150
			b.Add(ts, nil, []byte("value"))
			all = append(all, stamped{int64(len(all)), ts})
		}
		appendBatch(t, l, b.Batch())
	}
	return all
}

func firstSince(all []stamped, ts, start int64) storage.TimeOffset {
	for _, r := range all {
		if r.ts >= ts && r.offset >= start {
			return storage.TimeOffset{Offset: r.offset, Timestamp: r.ts}
		}
	}
	return storage.TimeOffset{Offset: -1, Timestamp: -1, Epoch: -1}
}

func newestOf(all []stamped, start int64) storage.TimeOffset {
	best := storage.TimeOffset{Offset: -1, Timestamp: -1, Epoch: -1}
	for _, r := range all {
		if r.offset >= start && r.ts > best.Timestamp {
			best = storage.TimeOffset{Offset: r.offset, Timestamp: r.ts}
		}
	}
	return best
}

func TestLookupsAgainstModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			o := testOptions(vfs.Memory(), "/data")
			c := plain()
			c.SegmentBytes, c.IndexIntervalBytes = 2000, 150
			s := openStore(t, o)
			l := openLog(t, s, c)
			dice := rand.New(rand.NewPCG(seed, 1))
			all := randomLog(t, l, dice)
			check := func(l storage.Log, start int64) {
				t.Helper()
				for range 200 {
					ts := 800 + dice.Int64N(int64(len(all))+500)
					got, err := l.OffsetFor(ts)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(firstSince(all, ts, start), got); diff != "" {
						t.Fatalf("ts %d, start %d: %s", ts, start, diff)
					}
				}
				got, err := l.MaxTimestamp()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(newestOf(all, start), got); diff != "" {
					t.Fatalf("start %d: %s", start, diff)
				}
			}
			check(l, 0)
			stop(t, s)
			s = openStore(t, o) // from the index files
			l = openLog(t, s, c)
			check(l, 0)
			for start := int64(20); start < int64(len(all)); start += 37 {
				if _, err := l.DeleteRecords(start); err != nil {
					t.Fatal(err)
				}
				check(l, start)
			}
			kill(s)
			s = openStore(t, o) // after a walk
			l = openLog(t, s, c)
			check(l, l.Offsets().Start)
			stop(t, s)
		})
	}
}

func TestLookupsOfSpecialLogs(t *testing.T) {
	s := openStore(t, testOptions(vfs.Memory(), "/data"))
	l := openLog(t, s, plain())
	none := storage.TimeOffset{Offset: -1, Timestamp: -1, Epoch: -1}
	expect := func(what string, want storage.TimeOffset, got storage.TimeOffset, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", what, got, err, want)
		}
	}
	got, err := l.OffsetFor(0)
	expect("empty", none, got, err)
	got, err = l.MaxTimestamp()
	expect("empty, newest", none, got, err)

	bad := record.NewBuilder(record.Gzip).Add(500, nil, []byte("x")).Batch()
	copy(bad[record.HeaderSize:], "this is not gzip") // with a checksum that fits
	bad.StampAppendTime(500)
	appendBatch(t, l, bad)
	got, err = l.OffsetFor(400)
	expect("a batch that does not open", storage.TimeOffset{Offset: 0, Timestamp: 500}, got, err)

	c := plain()
	c.AppendTime = true
	l.Configure(c)
	appendBatch(t, l, batch(3, 7, "x"))
	got, err = l.OffsetFor(501)
	expect("append time", storage.TimeOffset{Offset: 1, Timestamp: noon.UnixMilli()}, got, err)
	got, err = l.OffsetFor(noon.UnixMilli() + 1)
	expect("later than all", none, got, err)
	stop(t, s)
}

// TestSparseIndexStillFinds: a segment of more batches than index entries.
func TestSparseIndexStillFinds(t *testing.T) {
	o := testOptions(vfs.Memory(), "/data")
	c := plain()
	c.IndexIntervalBytes = 1
	s := openStore(t, o)
	l := openLog(t, s, c)
	const n = 5000
	for i := range n {
		appendBatch(t, l, batch(1, 1000+int64(i), fmt.Sprintf("%0250d", i)))
	}
	check := func(l storage.Log) {
		t.Helper()
		for i := int64(0); i < n; i += 61 {
			for r := range readOnce(t, l, i) {
				if r.Offset != i || string(r.Value) != fmt.Sprintf("%0250d", i) {
					t.Fatalf("read at %d gave %d %q", i, r.Offset, r.Value)
				}
				break
			}
			if got, err := l.OffsetFor(1000 + i); err != nil || got.Offset != i {
				t.Fatalf("time %d: %+v, %v", 1000+i, got, err)
			}
		}
	}
	if entries := len(l.active.offsets); entries >= maxEntries || entries < maxEntries/2-1 {
		t.Errorf("%d entries", entries)
	}
	check(l)
	stop(t, s)
	s = openStore(t, o)
	l = openLog(t, s, c)
	check(l)
	if l.grew {
		t.Error("the index files were not used")
	}
	stop(t, s)
}
