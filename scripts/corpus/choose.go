package main

import (
	"cmp"
	"maps"
)

// block is a piece of code that runs as a whole, as a coverage profile names
// it: file, first and last place.
type block string

type blocks map[block]bool

// input is a file that a target can be run with.
type input struct {
	name    string
	text    []byte // in Go's format
	reaches blocks
}

// small is how many bytes an input may have before another that reaches the
// same is taken, however much more this one reaches.
const small = 4 << 10

// choose picks inputs that together reach every block that one of them reaches
// and that is not known: each time the one with the most new blocks, of equals
// the smallest. It stops when there are most of them.
func choose(inputs []input, known blocks, most int) []input {
	reached := maps.Clone(known)
	var chosen []input
	for _, large := range []bool{false, true} {
		for len(chosen) < most {
			best, gain := richest(inputs, reached, large)
			if gain == 0 {
				break
			}
			chosen = append(chosen, best)
			maps.Copy(reached, best.reaches)
		}
	}
	return chosen
}

// richest is the small or large input with the most blocks that are not
// reached, and how many those are.
func richest(inputs []input, reached blocks, large bool) (best input, gain int) {
	for _, in := range inputs {
		if (len(in.text) > small) != large {
			continue
		}
		n := in.reaches.without(reached)
		if c := cmp.Or(cmp.Compare(gain, n), cmp.Compare(len(in.text), len(best.text)), cmp.Compare(in.name, best.name)); c < 0 {
			best, gain = in, n
		}
	}
	return best, gain
}

// without counts the blocks that are not in other.
func (b blocks) without(other blocks) int {
	n := 0
	for k := range b {
		if !other[k] {
			n++
		}
	}
	return n
}
