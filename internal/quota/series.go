package quota

// series is an account's place in the metrics, guarded by the Enforcer's mu.
type series struct {
	named bool          // in a setting, now
	own   bool          // has series of its own; else it is folded into _other
	from  [kinds]totals // what the account had counted when it came there
}

// slots hands out the series of one's own, which are bounded so that nobody
// can mint them. It is guarded by the Enforcer's mu.
type slots struct {
	free    int
	unnamed map[*account]struct{} // have a slot, and would lose it to a named one
	other   [kinds]totals         // counted by accounts while they were folded, and left
}

// settle gives an account its place, when its setting has changed.
func (s *slots) settle(a *account, named bool) {
	a.series.named = named
	if !a.series.own {
		s.claim(a)
	}
	if !a.series.own {
		return
	}
	if named {
		delete(s.unnamed, a)
		return
	}
	if s.unnamed == nil {
		s.unnamed = map[*account]struct{}{}
	}
	s.unnamed[a] = struct{}{}
}

// claim takes a slot, from one who is not named when there is no other.
func (s *slots) claim(a *account) {
	if s.free == 0 && a.series.named {
		for loser := range s.unnamed {
			s.drop(loser)
			loser.series.own = false
			loser.series.from = loser.totals()
			break
		}
	}
	if s.free == 0 {
		return
	}
	s.free--
	now := a.totals()
	for k := range now {
		s.other[k] = s.other[k].plus(now[k].minus(a.series.from[k]))
	}
	a.series.own, a.series.from = true, now
}

func (s *slots) drop(a *account) {
	delete(s.unnamed, a)
	s.free++
}

// leave takes a forgotten account out.
func (s *slots) leave(a *account) {
	if a.series.own {
		s.drop(a)
		return
	}
	for k, now := range a.totals() {
		s.other[k] = s.other[k].plus(now.minus(a.series.from[k]))
	}
}

func (a *account) totals() (t [kinds]totals) {
	for k := range a.buckets {
		t[k] = a.buckets[k].totals()
	}
	return t
}
