package quota

import (
	"cmp"
	"slices"
)

// series is an account's place in the metrics, guarded by the Enforcer's mu.
// Who is neither named in a setting nor was ever throttled has none.
type series struct {
	named  bool // in a setting, now
	own    bool // has series of its own
	folded bool // is added up in _other
}

// slots hands out the series of one's own, which are bounded so that nobody
// can mint them. It is guarded by the Enforcer's mu.
type slots struct {
	free    int
	unnamed map[*account]struct{} // have a slot, and would lose it to a named one
	other   [kinds]totals         // counted by accounts while they were folded, and left
}

// settle gives an account its place, when its setting has changed.
func (s *slots) settle(a *account) {
	switch {
	case shapeOf(a.owner) == ofNobody || shapeOf(a.owner) == ofAddress:
	case !a.series.own:
		if a.series.named || a.series.folded {
			s.place(a)
		}
	case a.series.named:
		delete(s.unnamed, a)
	default:
		s.expose(a)
	}
}

// place finds a slot for an account, or folds it.
func (s *slots) place(a *account) {
	if s.free > 0 || a.series.named && s.evict() {
		s.claim(a)
		return
	}
	a.series.folded = true
}

// evict takes a slot from one who is not named, if there is one.
func (s *slots) evict() bool {
	for loser := range s.unnamed {
		s.drop(loser)
		loser.series.own, loser.series.folded = false, true
		loser.countFrom(loser.totals())
		return true
	}
	return false
}

func (s *slots) claim(a *account) {
	s.free--
	if a.series.folded {
		now := a.totals()
		s.fold(a, now)
		a.countFrom(now)
	}
	a.series.own, a.series.folded = true, false
	if !a.series.named {
		s.expose(a)
	}
}

// expose puts the slot of an account up for those who are named.
func (s *slots) expose(a *account) {
	if s.unnamed == nil {
		s.unnamed = map[*account]struct{}{}
	}
	s.unnamed[a] = struct{}{}
}

func (s *slots) drop(a *account) {
	delete(s.unnamed, a)
	s.free++
}

// fold leaves with the others what an account counted while it was one of
// them.
func (s *slots) fold(a *account, now [kinds]totals) {
	for k, b := range a.buckets {
		if b != nil {
			s.other[k] = s.other[k].plus(b.sinceFrom(now[k]))
		}
	}
}

// leave takes an account that loses its buckets out.
func (s *slots) leave(a *account) {
	switch {
	case a.series.own:
		s.drop(a)
	case a.series.folded:
		s.fold(a, a.totals())
	}
	a.series.own, a.series.folded = false, false
}

// countFrom has the series of an account begin at what it has counted so far.
func (a *account) countFrom(now [kinds]totals) {
	for k, b := range a.buckets {
		if b != nil {
			b.books().from = now[k]
		}
	}
}

func (a *account) totals() (t [kinds]totals) {
	for k, b := range a.buckets {
		if b != nil {
			t[k] = b.totals()
		}
	}
	return t
}

// placeThrottled gives a place to those who were throttled for the first time,
// in that order. The caller holds mu.
func (e *Enforcer) placeThrottled() {
	fresh := int64(0)
	for _, m := range e.meters {
		fresh += m.fresh.Swap(0)
	}
	if fresh == 0 {
		return
	}
	type newcomer struct {
		account *account
		at      int64
	}
	var found []newcomer
	for _, a := range e.accounts.all {
		if shape := shapeOf(a.owner); shape == ofAddress || shape == ofNobody || a.series.own || a.series.folded {
			continue
		}
		if at, was := a.throttledAt(); was {
			found = append(found, newcomer{a, at})
		}
	}
	slices.SortFunc(found, func(a, b newcomer) int { return cmp.Compare(a.at-b.at, 0) })
	for _, n := range found {
		e.series.place(n.account)
	}
}

// throttledAt is the moment of the account's last throttle, if it had one.
func (a *account) throttledAt() (at int64, was bool) {
	for _, b := range a.buckets {
		if b == nil || b.throttled.Load() == 0 {
			continue
		}
		if last := b.throttledAt.Load(); !was || last-at > 0 {
			at, was = last, true
		}
	}
	return at, was
}
