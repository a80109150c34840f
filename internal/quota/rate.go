package quota

import "time"

// RateWindow is the span over which Status measures a rate: eleven seconds,
// as Kafka's own metrics do.
const RateWindow = 11 * time.Second

// history is the bytes of a bucket at the last seconds.
type history struct {
	marks [int(RateWindow/time.Second) + 1]mark
	next  int // where the oldest mark is overwritten
	count int
}

type mark struct {
	at    int64 // ticks
	bytes int64
}

func (h *history) add(m mark) {
	h.marks[h.next] = m
	h.next = (h.next + 1) % len(h.marks)
	h.count = min(h.count+1, len(h.marks))
}

// rate is in bytes per second, up to the mark of this moment.
func (h *history) rate(now mark) float64 {
	if h == nil || h.count == 0 {
		return 0
	}
	oldest := h.marks[(h.next-h.count+len(h.marks))%len(h.marks)]
	span := now.at - oldest.at
	if span <= 0 {
		return 0
	}
	return float64(now.bytes-oldest.bytes) * float64(secTicks) / float64(span)
}

// sample notes how much every bucket has charged.
func (e *Enforcer) sample(now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.accounts.each(func(a *account) {
		for k := range a.buckets {
			a.sample(Kind(k), now)
		}
	})
}

// sample begins with the first charge, which is less than a second ago.
func (a *account) sample(k Kind, now int64) {
	_, bytes := a.buckets[k].counted()
	if a.history[k] == nil {
		if bytes == 0 {
			return
		}
		a.history[k] = &history{}
		a.history[k].add(mark{at: now - secTicks})
	}
	a.history[k].add(mark{at: now, bytes: bytes})
}
