package quota

import "sync/atomic"

// minTurn is the shortest turn, in ticks: shorter ones are not worth a wake.
const minTurn = 2 * msTicks

// line is the order in which the throttled fetches of one bucket come back.
// Each is promised a turn that begins when the one before it ends and lasts as
// long as what a fetch hands out takes to earn.
type line struct {
	tail    atomic.Int64 // ticks: when the last promised turn ends
	handout atomic.Int64 // bytes a fetch hands out beyond the balance, of late
	ahead   atomic.Int64 // bytes reserved beyond the balance, by those who read now
}

// turn is what one connection was promised.
type turn struct {
	limit      *limit // a turn is void under another limit
	start, end int64  // ticks
	due        bool   // nothing was taken yet
}

// come says whether it is the connection's turn to take.
func (t *turn) come(lim *limit, now int64) bool {
	return t.due && t.limit == lim && now-t.start >= 0
}

// length is how long a turn is under lim, in ticks.
func (l *line) length(lim *limit) int64 {
	return max(lim.cost(int(l.handout.Load())), minTurn)
}

// learn follows the handouts: up at once, so that nobody is called in vain,
// and down by and by.
func (l *line) learn(excess int) {
	known := l.handout.Load()
	next := int64(max(excess, 0))
	if next < known {
		next = known - (known-next+7)/8
	}
	l.handout.Store(next)
}

// join promises the next turn: not before zero, when the debt is paid, and
// not before the turns promised so far. Turns of connections that went away
// cannot keep the others waiting for long: the line is never taken to be longer
// than two turns for each of the waiting.
func (l *line) join(lim *limit, zero, waiting int64) (start, end int64) {
	length := l.length(lim)
	for {
		tail := l.tail.Load()
		start = zero
		if ahead := tail - zero; ahead > 0 && ahead <= maxDebt {
			start += min(ahead, 2*length*(waiting+1))
		}
		if l.tail.CompareAndSwap(tail, start+length) {
			return start, start + length
		}
	}
}

// carry shortens the promises when a limit was raised or removed, as Mute does.
func (l *line) carry(old, lim *limit, now int64) {
	if lim.perByte >= old.perByte {
		return
	}
	for {
		tail := l.tail.Load()
		if tail-now <= 0 || l.tail.CompareAndSwap(tail, old.rescale(lim, tail, now)) {
			return
		}
	}
}
