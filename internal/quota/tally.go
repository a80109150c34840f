package quota

import "sync/atomic"

// tally counts what a bucket was charged, with one atomic addition a charge:
// the number of checks in the upper 20 bits of a word, the bytes in the lower
// 44. Long before either of them is full the word is folded into the sums.
type tally struct {
	word          atomic.Uint64
	bytes, checks int64 // folded; guarded by the meter's folding
}

const (
	tallyBytes = 44
	// tallyFull are the highest bits of both counts. Half of each is left
	// for those who count while the word is being folded.
	tallyFull = 1<<63 | 1<<(tallyBytes-1)
)

// count adds checks (charges judged by a limit) and bytes.
func (b *bucket) count(checks, bytes int) {
	if b.tally.word.Add(uint64(checks)<<tallyBytes|uint64(bytes))&tallyFull != 0 {
		b.counted()
	}
}

// counted folds the word and gives the sums.
func (b *bucket) counted() (checks, bytes int64) {
	b.meter.folding.Lock()
	defer b.meter.folding.Unlock()
	word := b.tally.word.Swap(0)
	b.tally.checks += int64(word >> tallyBytes)
	b.tally.bytes += int64(word & (1<<tallyBytes - 1))
	return b.tally.checks, b.tally.bytes
}
