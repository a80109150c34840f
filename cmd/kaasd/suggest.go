package main

import (
	"fmt"
	"strings"
)

// didYouMean is a remark in parentheses that names the word nearest to word,
// or what comes instead when none is near.
func didYouMean(word string, known []string, otherwise string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, k := range known {
		d := len(word) - len(k) // so much must be removed at least
		if d < least {
			d = distance(word, k)
		}
		if strings.HasPrefix(word, k+"-") || strings.HasPrefix(word, k+".") {
			d = min(d, 2) // --produce-rate for --produce
		}
		if d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf(" (did you mean %s?)", best)
	}
	if otherwise != "" {
		return " (" + otherwise + ")"
	}
	return ""
}

// distance is how many bytes must be added, removed, changed or swapped with
// their neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
