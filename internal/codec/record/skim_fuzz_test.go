package record

import (
	"slices"
	"testing"
)

// FuzzTimes: whatever a batch holds, what is read as it is decompressed is what
// is there when it is opened whole, and both find fault with the same batches.
func FuzzTimes(f *testing.F) {
	for c := None; c <= Zstd; c++ {
		f.Add([]byte(sample(c).Batch()))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, _, err := Next(raw)
		if err != nil {
			return
		}
		var whole, skimmed []Time
		var wholeErr, skimErr error
		for r, err := range b.Records() {
			if wholeErr = err; err == nil {
				whole = append(whole, Time{r.Offset, r.Timestamp})
			}
		}
		for at, err := range b.Times() {
			if skimErr = err; err == nil {
				skimmed = append(skimmed, at)
			}
		}
		if (wholeErr == nil) != (skimErr == nil) {
			t.Fatalf("opened whole: %v, skimmed: %v", wholeErr, skimErr)
		}
		if wholeErr == nil && !slices.Equal(whole, skimmed) {
			t.Errorf("opened whole: %v, skimmed: %v", whole, skimmed)
		}
		if len(seats)+len(large) != 0 {
			t.Error("a seat was not given back")
		}
	})
}
