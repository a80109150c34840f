package segment

import (
	"cmp"
	"slices"
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
	epoch   int16
	n       int // of batches
	batches [remembered]sequenced
	seen    int64 // when it last wrote, or when the log was opened, ms
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
	byID    map[int64]*producer
	changed bool // since the last snapshot
}

func newProducers() *producers { return &producers{byID: map[int64]*producer{}} }

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
	if known == nil {
		known = &producer{}
		p.byID[b.ProducerID()] = known
	}
	if known.epoch != b.ProducerEpoch() {
		*known = producer{epoch: b.ProducerEpoch()}
	}
	known.seen = now
	known.push(sequenced{b.BaseSequence(), b.LastSequence(), b.BaseOffset(), b.NextOffset(), b.MaxTimestamp()})
	p.changed = true
}

// expire forgets the producers that were silent for longer than age.
func (p *producers) expire(now time.Time, age time.Duration) {
	limit := now.Add(-age).UnixMilli()
	for id, known := range p.byID {
		if known.seen < limit {
			delete(p.byID, id)
			p.changed = true
		}
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
