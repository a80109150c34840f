package record

import (
	"bytes"
	"testing"
)

// FuzzValidate holds that nothing panics, and that what is accepted passes its
// own check and, where it is not compressed, can be read to its end.
func FuzzValidate(f *testing.F) {
	for _, r := range loadRecorded(f) {
		f.Add([]byte(r.bytes(f)), true)
	}
	f.Fuzz(func(t *testing.T, records []byte, seal bool) {
		if seal && len(records) >= HeaderSize {
			Batch(records).seal() // else nearly everything ends at the checksum
		}
		l := Limits{MaxBytes: 1 << 20, Before: -1, After: -1, ZstdAllowed: true, WalkCompressed: true}
		b, _, err := Validate(records, l)
		if err != nil {
			return
		}
		if err := b.Check(); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		var n int32
		for r, err := range b.Records() {
			if err != nil {
				t.Fatalf("accepted, but record %d: %v", n, err)
			}
			if r.Offset != int64(n) {
				t.Fatalf("record %d has offset %d", n, r.Offset)
			}
			n++
		}
		if n != b.Count() {
			t.Fatalf("%d records, the count is %d", n, b.Count())
		}
	})
}

// FuzzDecompress holds that no input makes more bytes than allowed.
func FuzzDecompress(f *testing.F) {
	for c := None; c <= Zstd; c++ {
		f.Add(uint8(c), compress(nil, c, bytes.Repeat([]byte("seed "), 50)))
	}
	f.Fuzz(func(t *testing.T, c uint8, src []byte) {
		const limit = 1 << 16
		got, err := Decompress(Codec(c%8), src, limit)
		if err == nil && len(got) > limit {
			t.Fatalf("%d bytes of at most %d", len(got), limit)
		}
	})
}
