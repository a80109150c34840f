package record

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/kafka"
)

const hour = 3600 * 1000 // ms

// fair are the limits of a topic without any settings, at the time 10,000 s.
var fair = Limits{MaxBytes: 1048588, Now: 10_000_000, Before: -1, After: hour, ZstdAllowed: true}

// one is a batch of one record that fair accepts.
func one(c Codec) Batch {
	return NewBuilder(c).Add(fair.Now, []byte("k"), []byte("v")).Batch()
}

// resealed is a batch changed by f, with the checksum that fits.
func resealed(b Batch, f func(b Batch)) Batch {
	f(b)
	binary.BigEndian.PutUint32(b[17:], b.Sum())
	return b
}

func TestValidateCodes(t *testing.T) {
	put32 := binary.BigEndian.PutUint32
	with := func(f func(l *Limits)) Limits {
		l := fair
		f(&l)
		return l
	}
	strict := with(func(l *Limits) { l.WalkCompressed = true })
	compacted := with(func(l *Limits) { l.Compacted = true })
	garbage := func() Batch {
		b := append(Batch(nil), one(None)...)
		b[22] |= byte(Gzip)
		return resealed(b, func(Batch) {})
	}
	for _, tt := range []struct {
		name    string
		records []byte
		limits  Limits
		want    kafka.Code
		errs    []int32 // indexes of the record errors
	}{
		{name: "good", records: one(None), limits: fair},
		{name: "good, gzip", records: one(Gzip), limits: strict},
		{name: "good, snappy", records: one(Snappy), limits: strict},
		{name: "good, lz4", records: one(LZ4), limits: strict},
		{name: "good, zstd", records: one(Zstd), limits: strict},
		{name: "null", limits: fair, want: kafka.InvalidRecord},
		{name: "half a batch", records: one(None)[:40], limits: fair, want: kafka.InvalidRecord},
		{name: "half a header", records: one(None)[:9], limits: fair, want: kafka.InvalidRecord},
		{name: "magic 0", records: resealed(one(None), func(b Batch) { b[16] = 0 }), limits: fair, want: kafka.InvalidRecord},
		{name: "magic 1", records: resealed(one(None), func(b Batch) { b[16] = 1 }), limits: fair, want: kafka.InvalidRecord},
		{name: "two batches", records: append(one(None), one(None)...), limits: fair, want: kafka.InvalidRecord},
		{name: "a byte more", records: append(one(None), 0), limits: fair, want: kafka.InvalidRecord},
		{name: "base offset 77", records: resealed(one(None), func(b Batch) { b.Stamp(77, -1) }), limits: fair, want: kafka.InvalidRecord},
		{name: "leader epoch is not looked at", records: resealed(one(None), func(b Batch) { b.Stamp(0, 99) }), limits: fair},
		{name: "zstd before v7", records: one(Zstd), limits: with(func(l *Limits) { l.ZstdAllowed = false }), want: kafka.UnsupportedCompressionType},
		{name: "as large as allowed", records: one(None), limits: with(func(l *Limits) { l.MaxBytes = len(one(None)) })},
		{name: "one byte larger than allowed", records: one(None), limits: with(func(l *Limits) { l.MaxBytes = len(one(None)) - 1 }), want: kafka.MessageTooLarge},
		{name: "size comes before checksum", records: func() Batch { b := one(None); b[17]++; return b }(), limits: with(func(l *Limits) { l.MaxBytes = 60 }), want: kafka.MessageTooLarge},
		{name: "bad checksum", records: func() Batch { b := one(None); b[17]++; return b }(), limits: fair, want: kafka.CorruptMessage},
		{name: "impossible length", records: resealed(one(None), func(b Batch) { put32(b[8:], 10) }), limits: fair, want: kafka.CorruptMessage},
		{name: "negative length", records: resealed(one(None), func(b Batch) { put32(b[8:], 1<<31) }), limits: fair, want: kafka.CorruptMessage},
		{name: "broken record", records: resealed(one(None), func(b Batch) { b[61] = 0xfe; b[62] = 0x7f }), limits: fair, want: kafka.InvalidRecord, errs: []int32{0}},
		{name: "last offset delta", records: resealed(one(None), func(b Batch) { put32(b[23:], 5) }), limits: fair, want: kafka.InvalidRecord},
		{name: "count 0", records: resealed(one(None), func(b Batch) { put32(b[57:], 0); put32(b[23:], 1<<32-1) }), limits: fair, want: kafka.InvalidRecord},
		{name: "negative count", records: resealed(one(None), func(b Batch) { put32(b[57:], 1<<31); put32(b[23:], 1<<31-1) }), limits: fair, want: kafka.InvalidRecord},
		{name: "count above the records", records: resealed(one(None), func(b Batch) { put32(b[57:], 2); put32(b[23:], 1) }), limits: fair, want: kafka.InvalidRecord, errs: []int32{1}},
		{name: "count below the records", records: resealed(sample(None).Batch(), func(b Batch) { put32(b[57:], 2); put32(b[23:], 1) }), limits: with(func(l *Limits) { l.Now = 3000 }), want: kafka.InvalidRecord},
		{name: "control bit", records: resealed(one(None), func(b Batch) { b[22] |= attrControl }), limits: fair, want: kafka.InvalidRecord},
		{name: "append time bit", records: resealed(one(None), func(b Batch) { b[22] |= attrAppendTime }), limits: fair},
		{name: "codec 5", records: resealed(one(None), func(b Batch) { b[22] |= 5 }), limits: fair, want: kafka.InvalidRecord},
		{name: "codec 7", records: resealed(one(None), func(b Batch) { b[22] |= 7 }), limits: fair, want: kafka.InvalidRecord},
		{name: "garbage is not opened", records: garbage(), limits: fair},
		{name: "garbage is opened when asked", records: garbage(), limits: strict, want: kafka.InvalidRecord},
		{name: "producer id without sequence", records: NewBuilder(None).Producer(5, 0, -1).Add(fair.Now, nil, nil).Batch(), limits: fair, want: kafka.InvalidRecord},
		{name: "producer id without epoch", records: NewBuilder(None).Producer(5, -1, 0).Add(fair.Now, nil, nil).Batch(), limits: fair, want: kafka.InvalidRecord},
		{name: "producer id -2", records: NewBuilder(None).Producer(-2, -1, -1).Add(fair.Now, nil, nil).Batch(), limits: fair, want: kafka.InvalidRecord},
		{name: "offset delta does not begin at 0", records: resealed(one(None), func(b Batch) { b[64] = 2 }), limits: with(func(l *Limits) { l.After = -1 }), want: kafka.InvalidRecord, errs: []int32{0}},
		{name: "null key is fine", records: NewBuilder(None).Add(fair.Now, nil, []byte("v")).Batch(), limits: fair},
		{name: "null key, compacted", records: NewBuilder(None).Add(fair.Now, []byte("k"), nil).Add(fair.Now, nil, nil).Batch(), limits: compacted, want: kafka.InvalidRecord, errs: []int32{1}},
		{name: "null key, compacted, zstd", records: NewBuilder(Zstd).Add(fair.Now, nil, nil).Batch(), limits: compacted, want: kafka.InvalidRecord, errs: []int32{0}},
		{name: "an hour ahead", records: NewBuilder(None).Add(fair.Now+hour, nil, nil).Batch(), limits: fair},
		{name: "more than an hour ahead", records: NewBuilder(None).Add(fair.Now, nil, nil).Add(fair.Now+hour+1, nil, nil).Batch(), limits: fair, want: kafka.InvalidTimestamp, errs: []int32{1}},
		{name: "more than an hour ahead, lz4", records: NewBuilder(LZ4).Add(fair.Now, nil, nil).Add(fair.Now+2*hour, nil, nil).Batch(), limits: fair, want: kafka.InvalidTimestamp, errs: []int32{1}},
		{name: "ahead does not matter for append time", records: NewBuilder(None).Add(fair.Now+2*hour, nil, nil).Batch(), limits: with(func(l *Limits) { l.AppendTime = true })},
		{name: "the largest time there is", records: NewBuilder(None).Add(1<<63-1, nil, nil).Batch(), limits: fair, want: kafka.InvalidTimestamp, errs: []int32{0}},
		{name: "the oldest time there is", records: NewBuilder(None).Add(-1<<63, nil, nil).Batch(), limits: with(func(l *Limits) { l.Before = 1<<63 - 1 }), want: kafka.InvalidTimestamp, errs: []int32{0}},
		{name: "too old", records: NewBuilder(None).Add(fair.Now-1001, nil, nil).Batch(), limits: with(func(l *Limits) { l.Before = 1000 }), want: kafka.InvalidTimestamp, errs: []int32{0}},
		{name: "no timestamp", records: NewBuilder(None).Add(-1, nil, nil).Batch(), limits: with(func(l *Limits) { l.Before = 1000 })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, errs, err := Validate(tt.records, tt.limits)
			if code := kafka.CodeOf(err); code != tt.want {
				t.Fatalf("got %v (%v), want %v", code, err, tt.want)
			}
			if (got != nil) != (err == nil) {
				t.Errorf("batch %v with error %v", got != nil, err)
			}
			var indexes []int32
			for _, e := range errs {
				indexes = append(indexes, e.Index)
			}
			if diff := cmp.Diff(tt.errs, indexes); diff != "" {
				t.Error(diff)
			}
			if got != nil {
				if err := got.Check(); err != nil {
					t.Errorf("an accepted batch does not pass its own check: %v", err)
				}
			}
		})
	}
}

// TestValidateFlips holds trap 28: whatever single bit of a good batch is flipped,
// the batch is refused with 2 or 87; only the leader epoch is free.
func TestValidateFlips(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		t.Run(c.String(), func(t *testing.T) {
			good := sample(c).Producer(1, 0, 0).Batch()
			l := fair
			l.Now = 3000
			for i := range good {
				for bit := range 8 {
					b := append(Batch(nil), good...)
					b[i] ^= 1 << bit
					_, _, err := Validate(b, l)
					code, epoch := kafka.CodeOf(err), i >= 12 && i < 16
					switch {
					case epoch && code == kafka.NoError:
					case !epoch && (code == kafka.CorruptMessage || code == kafka.InvalidRecord):
					default:
						t.Errorf("bit %d of byte %d: %v", bit, i, err)
					}
				}
			}
		})
	}
}

// TestValidateResealedFlips flips bits behind a right checksum: no panic, and
// what is accepted can be read.
func TestValidateResealedFlips(t *testing.T) {
	good := sample(None).Producer(1, 0, 0).Batch()
	l := fair
	l.After = -1
	for i := 21; i < len(good); i++ {
		for bit := range 8 {
			b := append(Batch(nil), good...)
			b[i] ^= 1 << bit
			got, _, err := Validate(resealed(b, func(Batch) {}), l)
			if err != nil || got.Codec() != None {
				continue
			}
			if n := len(collect(t, got)); n != 3 {
				t.Errorf("bit %d of byte %d: accepted with %d records", bit, i, n)
			}
		}
	}
}

func TestValidateCorrectsTimes(t *testing.T) {
	l := fair
	l.Now = 3000
	t.Run("max timestamp", func(t *testing.T) {
		b := resealed(sample(None).Batch(), func(b Batch) { binary.BigEndian.PutUint64(b[35:], 17) })
		got, _, err := Validate(b, l)
		if err != nil || got.MaxTimestamp() != 3000 || got.Check() != nil {
			t.Errorf("got max timestamp %d, %v, %v", got.MaxTimestamp(), err, got.Check())
		}
	})
	t.Run("append time bit", func(t *testing.T) {
		for _, c := range []Codec{None, Gzip} {
			b := resealed(sample(c).Batch(), func(b Batch) { b[22] |= attrAppendTime })
			got, _, err := Validate(b, l)
			if err != nil || got.AppendTime() || got.Codec() != c || got.Check() != nil {
				t.Errorf("%s: append time %v, codec %v, %v, %v", c, got.AppendTime(), got.Codec(), err, got.Check())
			}
		}
	})
	t.Run("a good batch is not touched", func(t *testing.T) {
		b := sample(None).Batch()
		want := append(Batch(nil), b...)
		got, _, err := Validate(b, l)
		if err != nil || &got[0] != &b[0] {
			t.Fatalf("moved, or %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestValidateBoundsRecordErrors(t *testing.T) {
	b := NewBuilder(None)
	for range 3 * maxRecordErrors {
		b.Add(fair.Now, nil, nil)
	}
	l := fair
	l.Compacted = true
	_, errs, err := Validate(b.Batch(), l)
	if kafka.CodeOf(err) != kafka.InvalidRecord || len(errs) != maxRecordErrors {
		t.Errorf("got %d record errors, want %d (%v)", len(errs), maxRecordErrors, err)
	}
}

func TestValidateAllocatesNothing(t *testing.T) {
	b := sample(None).Batch()
	l := fair
	l.Now = 3000
	if n := testing.AllocsPerRun(100, func() { _, _, _ = Validate(b, l) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
