package handlers

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Fetch sessions (KIP-227): the broker remembers which partitions a consumer
// reads, so that its requests name only what changed and the answers carry only
// what has something to say.
//
//	id, epoch   of the request
//	any, -1     a full fetch without a session; a live session of that id ends
//	any, 0      the same, and the answer may begin a session (id 0: it does not)
//	id, n       an incremental one; n counts the requests, from 1, around 0
const (
	// maxFetchSessions is max.incremental.fetch.session.cache.slots.
	maxFetchSessions = 1000
	// maxFetchSessionPartitions bounds the memory of all sessions together.
	maxFetchSessionPartitions = 256 << 10
	// fetchSessionIdle is how long a session must have been idle before it
	// makes room for another (min.incremental.fetch.session.eviction.ms).
	fetchSessionIdle = 2 * time.Minute

	sessionless  = -1
	firstRequest = 0
)

// fetchSessions are all sessions of the broker; they do not belong to
// connections. One lock covers them: what is done under it is a walk over the
// partitions of one request.
type fetchSessions struct {
	mu         sync.Mutex
	byID       map[int32]*fetchSession
	partitions int // in all sessions
}

// fetchSession is one consumer's. Its fields belong to fetchSessions.mu.
type fetchSession struct {
	id    int32
	next  int32 // epoch of the next request
	byID  bool  // topics are named by id
	used  time.Time
	order []*fetchPosition // in which they are served
	named map[fetchName]*fetchPosition
}

// fetchName names a partition as the consumer does: by topic or by id.
type fetchName struct {
	topic  string
	id     kafka.TopicID
	number int32
}

// fetchPosition is where a consumer stands in one partition, and what it was
// last told.
type fetchPosition struct {
	fetchName
	epoch    int32 // leader epoch the consumer knows
	offset   int64
	maxBytes int32

	highWatermark, logStart int64
	gone                    bool // forgotten by the consumer
	served                  bool // the last answer had records of it
}

func newFetchSessions() *fetchSessions {
	return &fetchSessions{byID: map[int32]*fetchSession{}}
}

// begin finds the session of a request and brings it up to date; nil without
// an error is a full fetch. What is to be fetched comes as a copy, since the
// session may change while the request waits.
func (s *fetchSessions) begin(req *message.FetchRequest, byID bool, now time.Time) (*fetchSession, []fetchPosition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.byID[req.SessionID]
	if req.SessionEpoch == sessionless || req.SessionEpoch == firstRequest {
		s.end(f)
		return nil, fullFetch(req), nil
	}
	switch {
	case f == nil:
		return nil, nil, kafka.Errorf(kafka.FetchSessionIDNotFound, "there is no fetch session %d", req.SessionID)
	case f.next != req.SessionEpoch:
		return nil, nil, kafka.Errorf(kafka.InvalidFetchSessionEpoch, "fetch session %d expects epoch %d, not %d", f.id, f.next, req.SessionEpoch)
	case f.byID != byID:
		return nil, nil, kafka.Errorf(kafka.FetchSessionTopicIDError, "fetch session %d was begun with another way to name topics", f.id)
	}
	s.update(f, req)
	if s.partitions > maxFetchSessionPartitions {
		s.end(f)
		return nil, nil, kafka.Errorf(kafka.FetchSessionIDNotFound, "there is no room for %d partitions in fetch session %d", len(f.order), f.id)
	}
	f.used, f.next = now, nextEpoch(f.next)
	positions := make([]fetchPosition, len(f.order))
	for i, p := range f.order {
		positions[i] = *p
	}
	if len(positions) == 0 { // nothing is left to remember
		s.end(f)
		return nil, nil, nil
	}
	return f, positions, nil
}

func nextEpoch(epoch int32) int32 {
	if epoch == math.MaxInt32 {
		return 1
	}
	return epoch + 1
}

// update takes over what an incremental request changes.
func (s *fetchSessions) update(f *fetchSession, req *message.FetchRequest) {
	for _, p := range fullFetch(req) {
		s.put(f, p)
	}
	for _, t := range req.ForgottenTopicsData {
		for _, number := range t.Partitions {
			name := fetchName{topic: t.Topic, id: t.TopicID, number: number}
			if p := f.named[name]; p != nil {
				p.gone = true
				delete(f.named, name)
				s.partitions--
			}
		}
	}
	if len(f.named) < len(f.order) {
		f.sweep()
	}
}

func (s *fetchSessions) put(f *fetchSession, p fetchPosition) {
	if known := f.named[p.fetchName]; known != nil {
		known.epoch, known.offset, known.maxBytes = p.epoch, p.offset, p.maxBytes
		return
	}
	f.named[p.fetchName] = &p
	f.order = append(f.order, &p)
	s.partitions++
}

// sweep takes what was forgotten out of the order.
func (f *fetchSession) sweep() {
	kept := f.order[:0]
	for _, p := range f.order {
		if !p.gone {
			kept = append(kept, p)
		}
	}
	clear(f.order[len(kept):])
	f.order = kept
}

// fullFetch is every partition that a request names, in its order; of one that it names
// twice the last, as in Kafka.
func fullFetch(req *message.FetchRequest) []fetchPosition {
	n := partitionsOf(req)
	if n == 0 {
		return nil
	}
	positions := make([]fetchPosition, 0, n)
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			positions = append(positions, fetchPosition{
				fetchName: fetchName{topic: t.Topic, id: t.TopicID, number: p.Partition},
				epoch:     p.CurrentLeaderEpoch, offset: p.FetchOffset, maxBytes: p.PartitionMaxBytes,
				highWatermark: -1, logStart: -1,
			})
		}
	}
	return lastOfEach(positions)
}

// lastOfEach keeps each partition once, where it was named first.
func lastOfEach(positions []fetchPosition) []fetchPosition {
	if len(positions) == 1 {
		return positions
	}
	at := make(map[fetchName]int, len(positions))
	kept := positions[:0]
	for _, p := range positions {
		i, again := at[p.fetchName]
		if again {
			kept[i] = p
			continue
		}
		at[p.fetchName] = len(kept)
		kept = append(kept, p)
	}
	return slices.Clip(kept)
}

// create begins a session for what was just answered, and gives its id; 0
// when there is no room, which every client understands.
func (s *fetchSessions) create(positions []fetchPosition, byID bool, now time.Time) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(positions) == 0 || s.partitions+len(positions) > maxFetchSessionPartitions || !s.room(now) {
		return 0
	}
	f := &fetchSession{id: s.freeID(), next: 1, byID: byID, used: now, named: make(map[fetchName]*fetchPosition, len(positions))}
	for _, p := range positions {
		s.put(f, p)
	}
	s.byID[f.id] = f
	return f.id
}

// room says whether one more session fits, and makes it by ending the one
// that was idle longest.
func (s *fetchSessions) room(now time.Time) bool {
	if len(s.byID) < maxFetchSessions {
		return true
	}
	var oldest *fetchSession
	for _, f := range s.byID {
		if oldest == nil || f.used.Before(oldest.used) {
			oldest = f
		}
	}
	if now.Sub(oldest.used) < fetchSessionIdle {
		return false
	}
	s.end(oldest)
	return true
}

func (s *fetchSessions) freeID() int32 {
	for {
		id := rand.Int32N(math.MaxInt32-1) + 1
		if s.byID[id] == nil {
			return id
		}
	}
}

// drop is end for a request that has no other session.
func (s *fetchSessions) drop(f *fetchSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(f)
}

// end forgets a session; nil is none.
func (s *fetchSessions) end(f *fetchSession) {
	if f == nil || s.byID[f.id] != f {
		return
	}
	delete(s.byID, f.id)
	s.partitions -= len(f.named)
}

// told remembers what an answer says of the session's partitions, and moves
// those that gave records behind the others, so that none of them starves.
func (s *fetchSessions) told(f *fetchSession, wants []want) {
	s.mu.Lock()
	defer s.mu.Unlock()
	served := 0
	for i := range wants {
		w := &wants[i]
		p := f.named[w.fetchName]
		if p == nil {
			continue
		}
		p.highWatermark, p.logStart, p.served = w.ends.highWatermark, w.ends.start, w.records != nil
		if p.served {
			served++
		}
	}
	if served > 0 && served < len(f.order) {
		f.rotate()
	}
}

func (f *fetchSession) rotate() {
	order := make([]*fetchPosition, 0, len(f.order))
	for _, served := range []bool{false, true} {
		for _, p := range f.order {
			if p.served == served {
				order = append(order, p)
			}
		}
	}
	f.order = order
}
