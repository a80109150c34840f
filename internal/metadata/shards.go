package metadata

import (
	"hash/maphash"
	"maps"

	"kaasd/internal/kafka"
)

const shardCount = 256

// shards is a map of topics that is copied in pieces: an edited copy shares
// each piece with its original until it writes to it. With 10,000 topics a
// piece holds 40.
type shards[K comparable] struct {
	hash   func(K) uint8
	pieces *[shardCount]map[K]*Topic
	own    *[shardCount]bool // pieces that this copy may write to; nil: none
}

var seed = maphash.MakeSeed()

func hashName(name string) uint8    { return uint8(maphash.String(seed, name)) }
func hashID(id kafka.TopicID) uint8 { return id[len(id)-1] } // ids are random
func newShards[K comparable](hash func(K) uint8) shards[K] {
	return shards[K]{hash: hash, pieces: new([shardCount]map[K]*Topic)}
}

func (s *shards[K]) get(key K) (*Topic, bool) {
	t, ok := s.pieces[s.hash(key)][key]
	return t, ok
}

// edit is a copy that may be written to.
func (s *shards[K]) edit() shards[K] {
	pieces := *s.pieces
	return shards[K]{hash: s.hash, pieces: &pieces, own: new([shardCount]bool)}
}

func (s *shards[K]) put(key K, t *Topic) { s.piece(key)[key] = t }
func (s *shards[K]) remove(key K)        { delete(s.piece(key), key) }

func (s *shards[K]) piece(key K) map[K]*Topic {
	i := s.hash(key)
	if !s.own[i] {
		s.own[i] = true
		s.pieces[i] = maps.Clone(s.pieces[i])
		if s.pieces[i] == nil {
			s.pieces[i] = map[K]*Topic{}
		}
	}
	return s.pieces[i]
}
