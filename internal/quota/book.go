package quota

// book is what is kept about a bucket beside its balance; most have none. It
// is guarded by the Enforcer's mu.
type book struct {
	from   totals // what had been counted when its account came to its series
	moved  totals // what was counted under levels before this one
	rates  *history
	pauses *history
}

// books is the bucket's book for writing.
func (b *bucket) books() *book {
	if b.book == nil {
		b.book = &book{}
	}
	return b.book
}

// sinceFrom is what was counted since the account came to its series.
func (b *bucket) sinceFrom(t totals) totals {
	if b.book == nil {
		return t
	}
	return t.minus(b.book.from)
}

// underLevel is what was counted under the present level.
func (b *bucket) underLevel(t totals) totals {
	if b.book == nil {
		return t
	}
	return t.minus(b.book.moved)
}

// setLevel has the decisions to come counted under another level. A bucket
// that loses its limit keeps the level: nothing is decided without one.
func (b *bucket) setLevel(i int8) {
	if b.level != i {
		b.leaveLevel()
		b.level = i
	}
}

// leaveLevel hands what was counted so far to the level's sum.
func (b *bucket) leaveLevel() {
	if b.level == noLevel {
		return
	}
	t := b.totals()
	b.meter.moved[b.level] = b.meter.moved[b.level].plus(b.underLevel(t))
	b.books().moved = t
}
