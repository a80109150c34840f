package record

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// collect opens a batch and fails the test when it cannot.
func collect(t *testing.T, b Batch) []Record {
	t.Helper()
	var all []Record
	for r, err := range b.Records() {
		if err != nil {
			t.Fatalf("records: %v", err)
		}
		all = append(all, r)
	}
	return all
}

func sample(c Codec) *Builder {
	return NewBuilder(c).
		Add(1000, []byte("k0"), []byte("v0")).
		Add(3000, nil, bytes.Repeat([]byte("v"), 300), Header{Key: "h", Value: []byte("x")}, Header{Key: "null"}).
		Add(2000, []byte{}, nil)
}

func TestBuilderRoundTrip(t *testing.T) {
	want := []Record{
		{Offset: 70, Timestamp: 1000, Key: []byte("k0"), Value: []byte("v0")},
		{Offset: 71, Timestamp: 3000, Value: bytes.Repeat([]byte("v"), 300), Headers: []Header{{Key: "h", Value: []byte("x")}, {Key: "null"}}},
		{Offset: 72, Timestamp: 2000, Key: []byte{}},
	}
	for c := None; c <= Zstd; c++ {
		t.Run(c.String(), func(t *testing.T) {
			b := sample(c).Producer(7, 2, 40).Batch()
			b.Stamp(70, 5)
			if err := b.Check(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, collect(t, b)); diff != "" {
				t.Error(diff)
			}
			type head struct {
				Codec            Codec
				Base, Next       int64
				Epoch            int32
				BaseTime, Max    int64
				ID               int64
				ProducerEpoch    int16
				Sequence, Last   int32
				Count, LastDelta int32
			}
			got := head{b.Codec(), b.BaseOffset(), b.NextOffset(), b.LeaderEpoch(), b.BaseTimestamp(), b.MaxTimestamp(),
				b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.LastSequence(), b.Count(), b.LastOffsetDelta()}
			if diff := cmp.Diff(head{c, 70, 73, 5, 1000, 3000, 7, 2, 40, 42, 3, 2}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAppendTimeIsEveryRecordsTime(t *testing.T) {
	b := sample(Gzip).Batch()
	b.StampAppendTime(9999)
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	for _, r := range collect(t, b) {
		if r.Timestamp != 9999 {
			t.Errorf("timestamp of offset %d: got %d, want 9999", r.Offset, r.Timestamp)
		}
	}
}
