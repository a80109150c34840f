package segment

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// sequencedBatch is one of producer 5 with n records.
func sequencedBatch(epoch int16, first int32, n int) record.Batch {
	b := record.NewBuilder(record.None).Producer(5, epoch, first)
	for range n {
		b.Add(noon.UnixMilli(), nil, []byte("x"))
	}
	return b.Batch()
}

func TestIdempotentProducer(t *testing.T) {
	type step struct {
		epoch int16
		first int32
		n     int
		code  kafka.Code
		base  int64 // of the answer
		dup   bool
	}
	ok := func(first int32, n int, base int64) step { return step{1, first, n, 0, base, false} }
	tests := map[string][]step{
		"in order":             {ok(0, 1, 0), ok(1, 3, 1), ok(4, 1, 4)},
		"any first sequence":   {ok(1000, 2, 0), ok(1002, 1, 2)},
		"gap":                  {ok(0, 1, 0), {1, 2, 1, kafka.OutOfOrderSequenceNumber, 0, false}, ok(1, 1, 1)},
		"retry of the last":    {ok(0, 2, 0), {1, 0, 2, 0, 0, true}, ok(2, 1, 2)},
		"retry of the fifth":   {ok(0, 1, 0), ok(1, 1, 1), ok(2, 1, 2), ok(3, 1, 3), ok(4, 1, 4), {1, 0, 1, 0, 0, true}, {1, 2, 1, 0, 2, true}},
		"retry of the sixth":   {ok(0, 1, 0), ok(1, 1, 1), ok(2, 1, 2), ok(3, 1, 3), ok(4, 1, 4), ok(5, 1, 5), {1, 0, 1, kafka.OutOfOrderSequenceNumber, 0, false}},
		"retry of another cut": {ok(0, 2, 0), {1, 0, 1, kafka.OutOfOrderSequenceNumber, 0, false}},
		"old epoch":            {ok(0, 1, 0), {0, 1, 1, kafka.InvalidProducerEpoch, 0, false}},
		"new epoch":            {ok(0, 1, 0), {2, 0, 1, 0, 1, false}, {1, 1, 1, kafka.InvalidProducerEpoch, 0, false}},
		"new epoch from 1":     {ok(0, 1, 0), {2, 1, 1, kafka.OutOfOrderSequenceNumber, 0, false}},
		"new epoch, old batch": {ok(0, 1, 0), {2, 0, 1, 0, 1, false}, {2, 0, 1, 0, 1, true}},
		"wraps at the end":     {ok(math.MaxInt32, 1, 0), ok(0, 1, 1)},
		"wraps inside":         {ok(math.MaxInt32-1, 4, 0), ok(2, 1, 4), {1, math.MaxInt32 - 1, 4, 0, 0, true}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, testOptions(vfs.Memory(), "/data"))
			l := openLog(t, s, plain())
			for i, st := range steps {
				a, err := l.Append(sequencedBatch(st.epoch, st.first, st.n), noon)
				if kafka.CodeOf(err) != st.code || a.BaseOffset != st.base || a.Duplicate != st.dup {
					t.Fatalf("step %d: got %+v, %v; want %+v", i, a, err, st)
				}
			}
			stop(t, s)
		})
	}
}

// TestProducers: they are told by id, with what they wrote last, after a restart
// too.
func TestProducers(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		s := openStore(t, o)
		l := openLog(t, s, plain())
		for _, id := range []int64{9, 7} {
			appendBatch(t, l, record.NewBuilder(record.None).Producer(id, 2, 3).Add(noon.UnixMilli(), nil, []byte("x")).Batch())
		}
		appendBatch(t, l, batch(1, noon.UnixMilli(), "of nobody"))
		want := []storage.Producer{{ID: 7, Epoch: 2, LastSequence: 3, LastWrite: noon.UnixMilli()}, {ID: 9, Epoch: 2, LastSequence: 3, LastWrite: noon.UnixMilli()}}
		for range 2 {
			got, err := l.Producers()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
			stop(t, s)
			s = openStore(t, o)
			l = openLog(t, s, plain())
		}
		if err := s.Delete(orders, ordersID); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Producers(); kafka.CodeOf(err) != kafka.UnknownTopicOrPartition {
			t.Errorf("of a deleted log: %v", err)
		}
		stop(t, s)
	})
}

func TestTransactionsAreNotOpen(t *testing.T) {
	s := openStore(t, testOptions(vfs.Memory(), "/data"))
	l := openLog(t, s, plain())
	b := sequencedBatch(1, 0, 1)
	b[22] |= 1 << 4
	if _, err := l.Append(b, noon); kafka.CodeOf(err) != kafka.InvalidTxnState {
		t.Errorf("got %v", err)
	}
	stop(t, s)
}

// TestSequencesOutliveRestarts: the five last batches are known after a clean
// stop, after a kill, and across a roll.
func TestSequencesOutliveRestarts(t *testing.T) {
	tests := map[string]struct {
		end  func(testing.TB, *Store)
		size int64
	}{
		"clean":            {func(t testing.TB, s *Store) { stop(t, s) }, 1 << 30},
		"kill":             {func(_ testing.TB, s *Store) { kill(s) }, 1 << 30},
		"clean and rolled": {func(t testing.TB, s *Store) { stop(t, s) }, 200},
		"kill and rolled":  {func(_ testing.TB, s *Store) { kill(s) }, 200},
		"rolled, synced, killed": {func(_ testing.TB, s *Store) {
			s.flush()
			if s.checkpoint() != nil {
				panic("checkpoint")
			}
			kill(s)
		}, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := testOptions(vfs.Memory(), "/data")
			c := plain()
			c.SegmentBytes = tt.size
			s := openStore(t, o)
			l := openLog(t, s, c)
			for i := range int32(9) {
				appendBatch(t, l, sequencedBatch(3, i, 1))
			}
			for range 2 {
				tt.end(t, s)
				s = openStore(t, o)
				l = openLog(t, s, c)
				for i := int32(4); i < 9; i++ {
					if a := appendBatch(t, l, sequencedBatch(3, i, 1)); !a.Duplicate || a.BaseOffset != int64(i) || a.NextOffset != int64(i)+1 {
						t.Errorf("retry of %d: %+v", i, a)
					}
				}
				if _, err := l.Append(sequencedBatch(3, 3, 1), noon); kafka.CodeOf(err) != kafka.OutOfOrderSequenceNumber {
					t.Errorf("retry of 3: %v", err)
				}
			}
			if a := appendBatch(t, l, sequencedBatch(3, 9, 1)); a.BaseOffset != 9 {
				t.Errorf("the next one: %+v", a)
			}
			stop(t, s)
		})
	}
}

func TestSilentProducersAreForgotten(t *testing.T) {
	s := openStore(t, testOptions(vfs.Memory(), "/data"))
	l := openLog(t, s, plain())
	appendBatch(t, l, sequencedBatch(3, 0, 1))
	l.retain(noon.Add(23 * time.Hour))
	if _, err := l.Append(sequencedBatch(3, 7, 1), noon); kafka.CodeOf(err) != kafka.OutOfOrderSequenceNumber {
		t.Errorf("after 23 h: %v", err)
	}
	l.retain(noon.Add(25 * time.Hour))
	if a := appendBatch(t, l, sequencedBatch(3, 7, 1)); a.BaseOffset != 1 {
		t.Errorf("after 25 h: %+v", a)
	}
	stop(t, s)
}

func TestDuplicateKeepsItsAppendTime(t *testing.T) {
	s := openStore(t, testOptions(vfs.Memory(), "/data"))
	c := plain()
	c.AppendTime = true
	l := openLog(t, s, c)
	appendBatch(t, l, sequencedBatch(3, 0, 1))
	a, err := l.Append(sequencedBatch(3, 0, 1), noon.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	want := storage.Appended{NextOffset: 1, AppendTime: noon.UnixMilli(), Duplicate: true}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	stop(t, s)
}

func TestSnapshotRoundTrip(t *testing.T) {
	p := newProducers(&census{most: 1000}, new(sync.Mutex))
	for id := range int64(20) {
		for i := range int32(id % 8) {
			b := record.NewBuilder(record.None).Producer(id, int16(id), i*3).Add(noon.UnixMilli(), nil, nil).Add(noon.UnixMilli(), nil, nil).Add(0, nil, nil).Batch()
			b.Stamp(int64(i)*3, 0)
			p.take(b, 42)
		}
	}
	raw := p.encode()
	list, err := decodeProducers(raw, 42)
	if err != nil {
		t.Fatal(err)
	}
	got := newProducers(&census{most: 1000}, new(sync.Mutex))
	got.restore(list)
	if diff := cmp.Diff(p.byID, got.byID, cmp.AllowUnexported(producer{}, sequenced{}), cmpopts.IgnoreFields(producer{}, "older", "newer")); diff != "" {
		t.Error(diff)
	}
	for i := range raw {
		bad := append([]byte(nil), raw...)
		bad[i] ^= 0x40
		if _, err := decodeProducers(bad, 0); err == nil {
			t.Fatalf("byte %d changed, and nobody noticed", i)
		}
		if _, err := decodeProducers(raw[:i], 0); err == nil {
			t.Fatalf("cut at %d, and nobody noticed", i)
		}
	}
}
