package handlers

import (
	"fmt"
	"slices"
)

// maxNamed is how much one request may name, each thing that it describes once:
// all partitions there can be and a topic for each, and then some. The answer to
// a name of 6 bytes takes up to 200 bytes (CreateTopics, with the reason why
// not), to the number of a partition 110 (DescribeProducers), so that no answer
// takes more than 50 MB, but for what is described of topics and groups that exist.
const maxNamed = 2*maxPartitions + 50_000

// names are those that a request has held so far.
type names[K comparable] map[K]struct{}

// first says whether a name has not been there before.
func (seen names[K]) first(name K) bool {
	before := len(seen)
	seen[name] = struct{}{}
	return len(seen) > before
}

// tooMany is the end of a connection whose request names more than maxNamed.
func tooMany(named int) error {
	if named > maxNamed {
		return fmt.Errorf("a request may name %d groups, topics, partitions or others, not more", maxNamed)
	}
	return nil
}

// distinct keeps the first element of each name, in order: what a request names
// twice is answered once, so that a small request cannot have a large answer.
// The elements are moved within the request.
func distinct[T any, K comparable](elements []T, name func(*T) K) ([]T, error) {
	seen := names[K]{}
	kept := elements[:0]
	for i := range elements {
		if !seen.first(name(&elements[i])) {
			continue
		}
		if err := tooMany(len(seen)); err != nil {
			return nil, err
		}
		kept = append(kept, elements[i])
	}
	return kept, nil
}

// distinctNames is distinct for names that have nothing with them.
func distinctNames(all []string) ([]string, error) {
	return distinct(all, func(name *string) string { return *name })
}

// topicsOf is how a request that names partitions by topic does so.
type topicsOf[T, P any, K comparable] struct {
	name       func(*T) K
	partitions func(*T) *[]P
	number     func(P) int32
}

// place is a partition of a topic that a request names, the topic by the order
// in which it is named first.
type place struct {
	topic  int
	number int32
}

// distinct is distinct for partitions. A topic may come again, with others.
func (of topicsOf[T, P, K]) distinct(topics []T) ([]T, error) {
	order, seen := map[K]int{}, names[place]{}
	kept := topics[:0]
	for i := range topics {
		t := &topics[i]
		at, again := order[of.name(t)]
		if !again {
			at = len(order)
			order[of.name(t)] = at
		}
		partitions := of.partitions(t)
		*partitions = slices.DeleteFunc(*partitions, func(p P) bool { return len(seen) > maxNamed || !seen.first(place{at, of.number(p)}) })
		if err := tooMany(len(seen) + len(order)); err != nil {
			return nil, err
		}
		if !again || len(*partitions) > 0 {
			kept = append(kept, *t)
		}
	}
	return kept, nil
}

// itself is the number of a partition that has nothing with it.
func itself(number int32) int32 { return number }
