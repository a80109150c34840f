package segment

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

// remembered is how many batches of a producer are known again: as many as a
// producer may have in flight.
const remembered = 5

// sequenced is one batch of an idempotent producer.
type sequenced struct {
	first, last int32 // sequences
	base, next  int64 // offsets: of the first record, behind the last
	ts          int64 // the batch's largest timestamp, ms
}

// producer is what a log knows of one producer id (KIP-98, KIP-360).
type producer struct {
	id      int64
	epoch   int16
	n       int // of batches
	batches [remembered]sequenced
	seen    int64 // when it last wrote, or when the log was opened, ms

	older, newer *producer // in the order in which they wrote last
}

// last is the newest batch; n is above zero.
func (p *producer) last() sequenced { return p.batches[p.n-1] }

func (p *producer) push(q sequenced) {
	if p.n == remembered {
		copy(p.batches[:], p.batches[1:])
		p.n--
	}
	p.batches[p.n] = q
	p.n++
}

// producers is the producer state of one log: a batch is judged, written, and
// then taken.
type producers struct {
	byID           map[int64]*producer
	oldest, newest *producer // who has been silent for longest, and who wrote last
	changed        bool      // since the last snapshot

	census *census
	guard  *sync.Mutex  // the log's, under which all but n and place is
	n      atomic.Int64 // len(byID)
	place  int          // in the census, under its lock
}

func (l *Log) newProducers() *producers { return newProducers(l.store.census, &l.mu) }

func newProducers(c *census, guard *sync.Mutex) *producers {
	return &producers{byID: map[int64]*producer{}, census: c, guard: guard}
}

// judge says whether a batch may be appended: a duplicate is given with the
// place of the first one.
func (p *producers) judge(b record.Batch) (dup sequenced, isDup bool, err error) {
	if b.Transactional() {
		return dup, false, kafka.Errorf(kafka.InvalidTxnState, "producer %d has no transaction open on this partition", b.ProducerID())
	}
	known := p.byID[b.ProducerID()]
	if b.ProducerID() < 0 || known == nil {
		return dup, false, nil
	}
	epoch, first := b.ProducerEpoch(), b.BaseSequence()
	switch {
	case epoch < known.epoch:
		return dup, false, kafka.Errorf(kafka.InvalidProducerEpoch, "epoch %d of producer %d is older than %d", epoch, b.ProducerID(), known.epoch)
	case epoch > known.epoch && first == 0:
		return dup, false, nil
	case epoch > known.epoch:
		return dup, false, kafka.Errorf(kafka.OutOfOrderSequenceNumber, "producer %d begins epoch %d with sequence %d, not 0", b.ProducerID(), epoch, first)
	}
	for _, q := range known.batches[:known.n] {
		if q.first == first && q.last == b.LastSequence() {
			return q, true, nil
		}
	}
	if want := following(known.last().last); first != want {
		return dup, false, kafka.Errorf(kafka.OutOfOrderSequenceNumber, "producer %d sent sequence %d, %d is next", b.ProducerID(), first, want)
	}
	return dup, false, nil
}

// following is the sequence after s; they wrap to 0 after 2^31-1.
func following(s int32) int32 { return int32((int64(s) + 1) & 0x7fffffff) }

// take notes a batch that is in the log, stamped. now is in ms: the records'
// own timestamps may be of any age and do not say that a producer is silent.
func (p *producers) take(b record.Batch, now int64) {
	if b.ProducerID() < 0 {
		return
	}
	known := p.byID[b.ProducerID()]
	fresh := known == nil
	if fresh {
		known = &producer{id: b.ProducerID()}
	} else {
		p.unlink(known)
	}
	if known.epoch != b.ProducerEpoch() {
		known.epoch, known.n = b.ProducerEpoch(), 0
	}
	known.seen = now
	known.push(sequenced{b.BaseSequence(), b.LastSequence(), b.BaseOffset(), b.NextOffset(), b.MaxTimestamp()})
	p.link(known)
	p.changed = true
	if fresh {
		p.enter(known)
	}
}

// enter notes a producer that is linked already: it is the last to be forgotten for
// its own coming.
func (p *producers) enter(known *producer) {
	p.byID[known.id] = known
	p.census.join(p)
}

// link puts known at the end, behind all who wrote earlier.
func (p *producers) link(known *producer) {
	known.older, known.newer = p.newest, nil
	if p.newest == nil {
		p.oldest = known
	} else {
		p.newest.newer = known
	}
	p.newest = known
}

func (p *producers) unlink(known *producer) {
	if known.older == nil {
		p.oldest = known.newer
	} else {
		known.older.newer = known.newer
	}
	if known.newer == nil {
		p.newest = known.older
	} else {
		known.newer.older = known.older
	}
	known.older, known.newer = nil, nil
}

// forgetOldest forgets who has been silent for longest, but nobody who is alone.
func (p *producers) forgetOldest() {
	if p.oldest != p.newest {
		p.forget(p.oldest)
	}
}

func (p *producers) forget(known *producer) {
	p.unlink(known)
	delete(p.byID, known.id)
	p.changed = true
	p.census.left(p, 1)
}

// clear forgets all of them.
func (p *producers) clear() {
	if n := int64(len(p.byID)); n > 0 {
		clear(p.byID)
		p.oldest, p.newest = nil, nil
		p.census.left(p, n)
	}
}

// restore takes what a snapshot says, as far as there is room: those who wrote last
// stay.
func (p *producers) restore(list []*producer) {
	slices.SortFunc(list, func(a, b *producer) int { return cmp.Compare(a.last().next, b.last().next) })
	for _, known := range list[max(len(list)-mostOfLog, 0):] {
		if p.byID[known.id] == nil { // a snapshot of ours names nobody twice
			p.link(known)
			p.enter(known)
		}
	}
}

// expire forgets the producers that were silent for longer than age.
func (p *producers) expire(now time.Time, age time.Duration) {
	limit := now.Add(-age).UnixMilli()
	for p.oldest != nil && p.oldest.seen < limit {
		p.forget(p.oldest)
	}
}

// list is what is known of each producer, in order of the ids.
func (p *producers) list() []storage.Producer {
	list := make([]storage.Producer, 0, len(p.byID))
	for id, known := range p.byID {
		last := known.last()
		list = append(list, storage.Producer{ID: id, Epoch: known.epoch, LastSequence: last.last, LastWrite: last.ts})
	}
	slices.SortFunc(list, func(a, b storage.Producer) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Producers lists those that the log remembers.
func (l *Log) Producers() ([]storage.Producer, error) {
	if err := l.ready(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.failed.Load(); f != nil {
		return nil, f.err
	}
	return l.producers.list(), nil
}
