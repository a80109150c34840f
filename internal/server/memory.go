package server

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
)

// piece is the first step of a frame that grows, and what a frame counts above which it
// is large, in bytes.
const piece = 256 << 10

// The parts of all request memory, 1 in so many, that are for the frames of those who
// are not logged in, and for all requests but Produce.
const (
	strangersPart = 8
	questionsPart = 4
)

// pools are the request memory. Whoever can connect can fill the part of the
// strangers, and delays nobody who is logged in; whoever asks for much and takes no
// answer can fill that of the questions, and delays no records.
type pools struct {
	strangers, records, questions *memory
	wanted                        chan struct{} // holds a token once somebody waits
}

func newPools(limit int64) pools {
	strangers, questions := max(limit/strangersPart, piece), limit/questionsPart
	p := pools{newMemory(strangers), newMemory(limit - strangers - questions), newMemory(questions), make(chan struct{}, 1)}
	for _, m := range p.all() {
		m.wanted = p.wanted
	}
	return p
}

// all are the pools.
func (p pools) all() [3]*memory { return [3]*memory{p.strangers, p.records, p.questions} }

// of is the pool that a frame of a session belongs to, by its first bytes.
func (p pools) of(session Session, head []byte) *memory {
	switch {
	case !session.Established():
		return p.strangers
	case isProduce(head):
		return p.records
	}
	return p.questions
}

// memory is a pool that frames in progress share. It counts bytes and owns none.
type memory struct {
	limit int64 // bytes
	share int64 // the most one frame holds of the pool
	spare int64 // what large frames leave to the others

	wanted chan<- struct{} // is told when somebody waits; nil: nobody is

	mu      sync.Mutex
	used    int64
	seat    *loan // the frame that is outside the pool
	waiting int   // loans, of all holders
	born    uint64
	holders map[owner]*holder // with loans
	idle    []*holder         // without, to be used again
}

// owner is whose a frame is: somebody's who has a name, or of an address.
type owner struct {
	name    string
	network netip.Prefix // where there is no name
}

// holder is what all loans of an owner hold, and those that wait.
type holder struct {
	held    int64
	loans   int
	waiting []*loan // oldest frame first
}

// lookahead is how many of an owner's loans are looked at for one that has room, where
// the first has none.
const lookahead = 64

// loan is what one frame holds. That of an owner holds nothing at first.
type loan struct {
	owner  owner
	holder *holder // nil before the first take
	large  bool    // it counts more than a piece
	held   int64
	born   uint64 // order of the first take
	need   int64  // while waiting
	ready  chan struct{}
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, share: max(limit/4, piece), spare: limit / 4, holders: map[owner]*holder{}}
}

// wait ends when a loan that tryTake put in the queue has got its memory.
func (m *memory) wait(ctx context.Context, stop <-chan struct{}, l *loan) error {
	select {
	case <-l.ready:
		return nil
	case <-ctx.Done():
		m.leave(l)
		return context.Cause(ctx)
	case <-stop:
		m.leave(l)
		return errStopping
	}
}

// short says whether somebody waits.
func (m *memory) short() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting > 0
}

// tryTake takes n bytes at once, or puts the loan in the queue and says no.
func (m *memory) tryTake(l *loan, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.holder == nil {
		m.open(l)
	}
	if m.fits(l, n) {
		m.add(l, n)
		return true
	}
	l.need, l.ready = n, make(chan struct{})
	at, _ := l.place()
	l.holder.waiting = slices.Insert(l.holder.waiting, at, l)
	m.waiting++
	select {
	case m.wanted <- struct{}{}:
	default:
	}
	m.grant()
	return false
}

// place is where a loan stands among those of its owner that wait, or would.
func (l *loan) place() (at int, waits bool) {
	return slices.BinarySearchFunc(l.holder.waiting, l.born, func(w *loan, born uint64) int { return cmp.Compare(w.born, born) })
}

// open numbers a loan and counts it for its owner.
func (m *memory) open(l *loan) {
	m.born++
	l.born, l.holder = m.born, m.holders[l.owner]
	if l.holder == nil {
		l.holder = m.newHolder()
		m.holders[l.owner] = l.holder
	}
	l.holder.loans++
}

func (m *memory) newHolder() *holder {
	last := len(m.idle) - 1
	if last < 0 {
		return &holder{}
	}
	h := m.idle[last]
	m.idle = m.idle[:last]
	return h
}

// close takes a loan from its owner.
func (m *memory) close(l *loan) {
	l.holder.held -= l.held
	if l.holder.loans--; l.holder.loans == 0 {
		delete(m.holders, l.owner)
		m.idle = append(m.idle, l.holder)
	}
}

func (m *memory) fits(l *loan, n int64) bool {
	limit := m.limit
	if l.large {
		limit -= m.spare
	}
	return l == m.seat || (m.used+n <= limit && l.held+n <= m.share)
}

// tight says whether memory should be taken for bytes that are there alone.
func (m *memory) tight() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used > m.limit/2
}

func (m *memory) add(l *loan, n int64) {
	l.held += n
	l.holder.held += n
	if l != m.seat {
		m.used += n
	}
}

// grant serves the waiting: the first gets the seat when it is free, the others what
// the pool still has.
func (m *memory) grant() {
	if m.seat == nil && m.waiting > 0 {
		m.seat = m.first(func(*loan) bool { return true })
		m.used -= m.seat.held
	}
	for m.waiting > 0 {
		l := m.first(func(l *loan) bool { return m.fits(l, l.need) })
		if l == nil {
			return
		}
		m.unqueue(l)
		m.add(l, l.need)
		l.need = 0
		close(l.ready)
	}
}

// first is which of the waiting comes first, of those that may; nil: none does. It is
// the oldest frame of the owner who holds least, so that nobody waits behind all that
// another one has asked for.
func (m *memory) first(may func(*loan) bool) *loan {
	var first *loan
	for _, h := range m.holders {
		if len(h.waiting) == 0 || first != nil && h.held > first.holder.held {
			continue
		}
		i := slices.IndexFunc(h.waiting[:min(len(h.waiting), lookahead)], may)
		if i < 0 {
			continue
		}
		if l := h.waiting[i]; first == nil || h.held < first.holder.held || l.born < first.born {
			first = l
		}
	}
	return first
}

// unqueue takes a loan out of the queue, if it is there, and says whether another one
// of its owner is looked at from now on.
func (m *memory) unqueue(l *loan) (another bool) {
	at, waits := l.place()
	if !waits {
		return false
	}
	l.holder.waiting = slices.Delete(l.holder.waiting, at, at+1)
	m.waiting--
	return at < lookahead && len(l.holder.waiting) >= lookahead
}

// leave takes a loan out of the queue; what it was granted meanwhile stays
// with it until give.
func (m *memory) leave(l *loan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unqueue(l) {
		m.grant()
	}
}

// shrink returns what the loan holds above so many bytes.
func (m *memory) shrink(l *loan, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	back := l.held - bytes
	if back <= 0 {
		return
	}
	l.held -= back
	l.holder.held -= back
	if l != m.seat {
		m.used -= back
	}
	m.grant()
}

// give returns all that the loan holds.
func (m *memory) give(l *loan) {
	if l.holder == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	back := l.held > 0 || l == m.seat // else nobody can go on: thousands leave who have waited in vain
	if l == m.seat {
		m.seat = nil
	} else {
		m.used -= l.held
	}
	m.close(l)
	*l = loan{owner: l.owner}
	if back {
		m.grant()
	}
}
