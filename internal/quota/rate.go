package quota

import "time"

const (
	// RateWindow is the span over which a rate is measured: eleven seconds, as
	// Kafka's own metrics do.
	RateWindow = 11 * time.Second
	// pauseWindow is the span over which throttles are averaged, in marks that
	// are pauseSeconds apart.
	pauseWindow  = time.Minute
	pauseSeconds = 5

	marks = int(pauseWindow/time.Second)/pauseSeconds + 1
)

// history is two counts of a bucket at the last moments it was sampled.
type history struct {
	marks [marks]mark
	next  int // where the oldest mark is overwritten
	count int
}

// mark is what was counted at a moment: units at so many ticks, or nanoseconds
// of so many throttles.
type mark struct{ at, sum int64 }

// add keeps a mark, and the most of them before it.
func (h *history) add(m mark, most int) {
	h.marks[h.next] = m
	h.next = (h.next + 1) % most
	h.count = min(h.count+1, most)
}

// since is what was added from the oldest mark to that one.
func (h *history) since(now mark, most int) mark {
	if h == nil || h.count == 0 {
		return now
	}
	oldest := h.marks[(h.next-h.count+most)%most]
	return mark{now.at - oldest.at, now.sum - oldest.sum}
}

const rateMarks = int(RateWindow/time.Second) + 1

// rate is in units per second, up to this moment.
func (b *bucket) rate(units, now int64) float64 {
	if b.book == nil || b.book.rates == nil {
		return 0
	}
	span := b.book.rates.since(mark{now, units}, rateMarks)
	if span.at <= 0 {
		return 0
	}
	return float64(span.sum) * float64(secTicks) / float64(span.at)
}

// pauses is how many throttles there were of late, and for how many
// nanoseconds.
func (b *bucket) pauses(t totals) mark {
	var h *history
	if b.book != nil {
		h = b.book.pauses
	}
	return h.since(mark{t.throttled, t.nanos}, marks)
}

// sampled is how many accounts are sampled at a time.
const sampled = 1000

// sample notes how much every bucket has charged, and how long it has
// throttled.
func (e *Enforcer) sample(now int64, pauses bool) {
	for from, more := 0, true; more; from += sampled {
		more = e.samplePart(from, now, pauses)
	}
}

func (e *Enforcer) samplePart(from int, now int64, pauses bool) (more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.placeThrottled()
	all := e.accounts.all
	for _, a := range all[min(from, len(all)):min(from+sampled, len(all))] {
		for _, b := range a.buckets {
			if b == nil {
				continue
			}
			b.sample(now)
			if pauses && a.series.own {
				b.samplePauses()
			}
		}
	}
	return from+sampled < len(all)
}

// sample begins with the first charge, which is less than a second ago.
func (b *bucket) sample(now int64) {
	_, units := b.counted()
	if b.book == nil || b.book.rates == nil {
		if units == 0 {
			return
		}
		b.books().rates = &history{}
		b.book.rates.add(mark{at: now - secTicks}, rateMarks)
	}
	b.book.rates.add(mark{now, units}, rateMarks)
}

func (b *bucket) samplePauses() {
	t := b.totals()
	if t.throttled == 0 {
		return
	}
	if b.books().pauses == nil {
		b.book.pauses = &history{}
		b.book.pauses.add(mark{}, marks)
	}
	b.book.pauses.add(mark{t.throttled, t.nanos}, marks)
}
