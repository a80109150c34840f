package quota

import "sync/atomic"

const (
	// A turn has room for several waits of a millisecond, below which nobody
	// is muted; with many in the line it is shorter, so that a round does not
	// become longer than it must.
	longTurn  = 10 * msTicks
	shortTurn = 2 * msTicks
	round     = 250 * msTicks
	// minHandout is the least that is reserved for a fetch that will exceed
	// the balance, in ticks: enough to turn the next ones away.
	minHandout = 2 * msTicks
	// patience is how long a fetch is sent away for at most, unless the debt is
	// longer. A client that gives up and connects again has lost its turn, and may
	// never live to see one; some do after 10 s. And where heartbeats of a group
	// share the connection, two fetches may stand before one.
	patience = 5 * secTicks
	// strangers is how many fetchers a new one reckons with.
	strangers = 32
)

// line is the order in which the throttled fetches of one bucket come back.
// Each is promised a turn that begins when the one before it ends.
type line struct {
	tail    atomic.Int64 // ticks: when the last promised turn ends
	handout atomic.Int64 // bytes of a first batch, of late
	ahead   atomic.Int64 // bytes reserved beyond the grants, by those who read now
}

// turn is what one connection was promised, and what it got.
type turn struct {
	limit      uint64 // its number: a turn is void under another limit
	start, end int64  // ticks
	due        bool   // nothing was taken yet
	length     int64  // ticks
	used       int64  // ticks: handed out in the turn

	met   bool  // it has fetched
	since int64 // ticks: the first time
	taken int64 // ticks: all grants
}

// come says whether it is the connection's turn to take.
func (t *turn) come(lim *limit, now int64) bool {
	return t.due && t.limit == lim.number && now-t.start >= 0
}

// early says whether the connection's turn is still to come. It looks in then, and
// gets something only if the bucket is full: nobody else wants it.
func (t *turn) early(lim *limit, now int64) bool {
	return t.due && t.limit == lim.number && t.start-now >= msTicks
}

// over says whether the turn is used up when the balance is zero at that moment.
func (t *turn) over(lim *limit, zero, spare int64) bool {
	return t.limit != lim.number || zero+spare-t.end > 0
}

// left is what the turn that ends here did not need, or what it took too much
// when below zero, spread over the turns of one round. The next turn is shorter
// by that, so that promises and balance do not drift apart.
func (t *turn) left(lim *limit, zero, waiting int64) int64 {
	if t.limit != lim.number {
		return 0
	}
	return max(t.end-zero, -lim.burst) / (waiting + 1)
}

// promised says whether others wait for turns that are still to come.
func (l *line) promised(waiting, now int64) bool {
	return waiting > 0 && l.tail.Load()-now >= msTicks
}

// handsOut is what a fetch is known to hand out beyond the balance, in ticks.
func (l *line) handsOut(lim *limit) int64 {
	return max(lim.cost(int(l.handout.Load())), minHandout)
}

// learn follows the size of first batches that were larger than what was
// granted: up at once, so that nobody is called in vain, and down by and by. A
// little more than was granted is the header of an answer.
func (l *line) learn(used, granted int) {
	next := int64(0)
	if used > granted+granted/8 {
		next = int64(used)
	}
	if known := l.handout.Load(); next < known {
		next = known - (known-next+15)/16
	}
	l.handout.Store(next)
}

// spare is what must be left of a turn for another fetch: a handout, or half
// of one when the turn brought nothing yet; never so much that the balance would
// flow over before the next turn.
func (l *line) spare(t *turn, lim *limit) int64 {
	need := l.handsOut(lim)
	if t.due {
		need /= 2
	}
	return min(need, lim.burst)
}

// share is what one fetch may have of a full bucket, in ticks: equal parts for
// those who wait, so that a lone consumer gets as much at a time as there is.
// In its first second nobody can know who else is about to come; there a
// connection gets a part in all, so that the burst is not the first one's alone.
func (t *turn) share(lim *limit, waiting, now int64) int64 {
	if !t.met {
		t.met, t.since = true, now
	}
	if now-t.since < secTicks {
		return max(lim.burst/strangers-t.taken, 0)
	}
	return lim.burst / (waiting + 1)
}

// join promises the next turn: not before zero, when the debt is paid, and
// not before the turns promised so far. While others wait it is called towards
// the end of its turn, when most of it has been earned. Turns of connections that went away
// cannot keep the others waiting for long: the line is never taken to be longer
// than two turns for each of the waiting.
func (l *line) join(t *turn, lim *limit, zero, waiting int64) {
	length := max(l.handsOut(lim), min(longTurn, max(shortTurn, round/(waiting+1))))
	length = max(length-t.left(lim, zero, waiting), length/2)
	for {
		tail := l.tail.Load()
		start := zero
		if ahead := tail - zero; ahead > 0 && ahead <= maxDebt {
			start += min(ahead, 2*length*(waiting+1))
		}
		if l.tail.CompareAndSwap(tail, start+length) {
			t.limit, t.start, t.end, t.due = lim.number, start, start+length, true
			t.length, t.used = length, 0
			if waiting > 0 {
				t.start = max(start, t.end-l.handsOut(lim))
			}
			return
		}
	}
}

// end forgets the turns promised up to tail when nobody waits any more: those
// who had them are gone.
func (l *line) end(tail, now int64) {
	if tail-now > 0 {
		l.tail.CompareAndSwap(tail, now)
	}
}

// carry shortens the promises when a limit was raised or removed, as Mute does.
func (l *line) carry(old, lim *limit, now int64) {
	if lim.perUnit >= old.perUnit {
		return
	}
	for {
		tail := l.tail.Load()
		if tail-now <= 0 || l.tail.CompareAndSwap(tail, old.rescale(lim, tail, now)) {
			return
		}
	}
}
