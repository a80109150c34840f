package quota

import "time"

// survey is the counts of a moment.
type survey struct {
	base, overrides, exported, folded float64
	applied, rejected                 int
	kinds                             [kinds]kindSurvey
}

type kindSurvey struct {
	levels  [maxLevels]totals
	tracked int
	lines   map[ownerLabels]*seriesLine
}

type ownerLabels struct{ user, clientID string }

type seriesLine struct {
	totals
	limit  float64 // units per second; 0: none
	rate   float64 // units per second
	pauses mark
}

// otherOwners is what the owners without series of their own share.
var otherOwners = ownerLabels{user: "_other", clientID: "_other"}

func (e *Enforcer) survey() *survey {
	e.mu.Lock()
	e.placeThrottled()
	e.mu.Unlock()
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := &survey{
		base: float64(len(e.base)), overrides: float64(e.overridden),
		applied: e.applied, rejected: e.rejected,
	}
	for k := range s.kinds {
		s.kinds[k].levels = e.meters[k].moved
		s.kinds[k].lines = map[ownerLabels]*seriesLine{}
		if e.series.other[k] != (totals{}) {
			s.kinds[k].line(otherOwners).totals = e.series.other[k]
		}
	}
	now := e.ticksOf(time.Now())
	for _, a := range e.accounts.all {
		s.add(a, now)
	}
	return s
}

// line is that of an owner. Owners whose names became equal share one.
func (s *kindSurvey) line(owner ownerLabels) *seriesLine {
	if s.lines[owner] == nil {
		s.lines[owner] = &seriesLine{}
	}
	return s.lines[owner]
}

// add counts an account in.
func (s *survey) add(a *account, now int64) {
	owner := otherOwners
	switch {
	case a.series.own:
		owner = labelsOf(a.owner)
		s.exported++
	case a.series.folded:
		s.folded++
	}
	for k, b := range a.buckets {
		if b == nil || !b.named {
			continue
		}
		of, t := &s.kinds[k], b.totals()
		of.tracked++
		if b.level != noLevel {
			of.levels[b.level] = of.levels[b.level].plus(b.underLevel(t))
		}
		if a.series.own || a.series.folded {
			of.line(owner).add(b, t, now)
		}
	}
}

// add counts a bucket in.
func (l *seriesLine) add(b *bucket, t totals, now int64) {
	l.totals = l.plus(b.sinceFrom(t))
	if lim := b.limit.Load(); !lim.isUnlimited() {
		l.limit += lim.rate
	}
	l.rate += b.rate(t.units, now)
	p := b.pauses(t)
	l.pauses.at += p.at
	l.pauses.sum += p.sum
}
