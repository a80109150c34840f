package quota

import (
	"sync"
	"testing"
)

// What overflows the word of a tally is in its sums, whoever counts meanwhile.
func TestTally(t *testing.T) {
	b := &bucket{meter: newMeter(Produce, clock{})}
	const workers, each, size = 4, 400_000, 60_000_000
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				b.count(1, size)
			}
		})
	}
	all.Wait()
	for range 2 { // reading does not change them
		if checks, bytes := b.counted(); checks != workers*each || bytes != workers*each*size {
			t.Errorf("%d checks, %d bytes, want %d and %d", checks, bytes, workers*each, workers*each*size)
		}
	}
}
