package metadata

import (
	"hash/maphash"
	"iter"
	"maps"

	"kaasd/internal/kafka"
)

const shardCount = 256

// shards is a map that is copied in pieces: an edited copy shares each piece
// with its original until it writes to it. With 10,000 topics a piece holds 40.
type shards[K comparable, V any] struct {
	hash   func(K) uint8
	pieces *[shardCount]map[K]V
	own    *[shardCount]bool // pieces that this copy may write to; nil: none
}

var seed = maphash.MakeSeed()

func hashName(name string) uint8    { return uint8(maphash.String(seed, name)) }
func hashID(id kafka.TopicID) uint8 { return id[len(id)-1] } // ids are random

func newShards[K comparable, V any](hash func(K) uint8) shards[K, V] {
	return shards[K, V]{hash: hash, pieces: new([shardCount]map[K]V)}
}

func (s *shards[K, V]) get(key K) (V, bool) {
	v, ok := s.pieces[s.hash(key)][key]
	return v, ok
}

func (s *shards[K, V]) size() int {
	n := 0
	for _, piece := range s.pieces {
		n += len(piece)
	}
	return n
}

// all is everything, in no order.
func (s *shards[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, piece := range s.pieces {
			for key, v := range piece {
				if !yield(key, v) {
					return
				}
			}
		}
	}
}

// edit is a copy that may be written to.
func (s *shards[K, V]) edit() shards[K, V] {
	pieces := *s.pieces
	return shards[K, V]{hash: s.hash, pieces: &pieces, own: new([shardCount]bool)}
}

func (s *shards[K, V]) put(key K, v V) { s.piece(key)[key] = v }
func (s *shards[K, V]) remove(key K)   { delete(s.piece(key), key) }

func (s *shards[K, V]) piece(key K) map[K]V {
	i := s.hash(key)
	if !s.own[i] {
		s.own[i] = true
		s.pieces[i] = maps.Clone(s.pieces[i])
		if s.pieces[i] == nil {
			s.pieces[i] = map[K]V{}
		}
	}
	return s.pieces[i]
}
