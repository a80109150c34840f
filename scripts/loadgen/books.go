package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// entry is one answer.
type entry struct {
	connection int
	sent       time.Duration // when its request was sent, since the start
	at         time.Duration // when it came
	throttle   time.Duration // as announced
	owed       time.Duration // the part of it that is debt; the rest waits for a turn
	charged    int           // bytes; 0 for an empty throttled answer
}

// paid is when everything charged so far will be paid.
func (e entry) paid() time.Duration { return e.at + e.owed }

// report is what is printed.
type report struct {
	Bucket           string  `json:"bucket"`
	ChargedBytes     int     `json:"charged_bytes"`
	Seconds          float64 `json:"seconds"`
	Rate             float64 `json:"rate"` // bytes per second
	Limit            float64 `json:"limit"`
	ErrorPercent     float64 `json:"error_percent"`
	BooksPercent     float64 `json:"books_percent"`
	Answers          int     `json:"answers"`
	Throttled        int     `json:"throttled"`
	PerConnectionMin int     `json:"per_connection_min"` // bytes
	PerConnectionMax int     `json:"per_connection_max"`
}

// settle measures the answers. With a limit only those from when every
// connection has been throttled once count, else all of them. With a burst the
// books are judged too.
func settle(entries []entry, connections int, limit float64, burst time.Duration) (report, error) {
	r := report{Limit: limit, Answers: len(entries)}
	for _, e := range entries {
		if e.throttle > 0 {
			r.Throttled++
		}
	}
	begin := time.Duration(0)
	if limit > 0 {
		var err error
		if begin, err = allThrottled(entries, connections); err != nil {
			return r, err
		}
	}
	charged := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.charged == 0 })
	slices.SortFunc(charged, func(a, b entry) int { return cmp.Compare(a.paid(), b.paid()) })
	if burst > 0 && len(charged) > 0 {
		r.BooksPercent = audit(charged, limit, burst)
	}
	first := slices.IndexFunc(charged, func(e entry) bool { return e.paid() >= begin })
	if first < 0 || len(charged)-first < 2 {
		return r, errors.New("too few answers to measure (longer --duration)")
	}
	window := charged[first+1:]
	per := make([]int, connections)
	for _, e := range window {
		r.ChargedBytes += e.charged
		per[e.connection] += e.charged
	}
	r.Seconds = (window[len(window)-1].paid() - charged[first].paid()).Seconds()
	if r.Seconds <= 0 {
		return r, errors.New("the answers took no time to measure (longer --duration)")
	}
	r.Rate = float64(r.ChargedBytes) / r.Seconds
	if limit > 0 {
		r.Rate = middle(charged[first:])
		r.ErrorPercent = 100 * (r.Rate - limit) / limit
	}
	r.PerConnectionMin, r.PerConnectionMax = slices.Min(per), slices.Max(per)
	return r, nil
}

// middle is the median of the rates over all halves of the answers. Over all of them
// it would be the rate of two answers alone, the first and the last, and one that
// comes late on a busy machine would count for percents of it.
func middle(charged []entry) float64 {
	sums := make([]int, len(charged))
	for i, e := range charged[1:] {
		sums[i+1] = sums[i] + e.charged
	}
	half := len(charged) / 2
	var rates []float64
	for i, e := range charged[half:] {
		if took := e.paid() - charged[i].paid(); took > 0 {
			rates = append(rates, float64(sums[half+i]-sums[i])/took.Seconds())
		}
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// audit says by how many percent the charges are off what the books allow: all
// so far are the burst and the limit times the time until they are paid, since
// the bucket was full. That was when the first request was on its way. Some
// answer may come late on a busy machine, so it is the median of the last quarter.
func audit(charged []entry, limit float64, burst time.Duration) float64 {
	asked, answered := charged[0].sent, charged[0].at
	for _, e := range charged {
		asked, answered = min(asked, e.sent), min(answered, e.at)
	}
	var sum float64
	var off []float64
	for i, e := range charged {
		sum += float64(e.charged)
		if i >= len(charged)*3/4 {
			least, most := limit*(burst+e.paid()-answered).Seconds(), limit*(burst+e.paid()-asked).Seconds()
			off = append(off, 100*(min(sum-least, 0)+max(sum-most, 0))/most)
		}
	}
	slices.Sort(off)
	return off[len(off)/2]
}

// muted says whether connections were held for as long as was announced: the
// next answer of one must not come much before its throttle has passed. Single
// answers may be late on a busy machine, so each connection's are added up. What
// is announced is rounded up to a millisecond, which short throttles are mostly.
func muted(entries []entry, connections int) error {
	const slack, share = 500 * time.Millisecond, 0.9
	type held struct {
		answers                         int
		first, last, announced, pending time.Duration
	}
	all := make([]held, connections)
	for _, e := range entries {
		h := &all[e.connection]
		if h.answers++; h.answers == 1 {
			h.first = e.at
		}
		h.announced += h.pending
		h.last, h.pending = e.at, max(e.throttle-time.Millisecond, 0)
	}
	for i, h := range all {
		if took := h.last - h.first; float64(h.announced)*share > float64(took+slack) {
			return fmt.Errorf("connection %d was throttled for %v within %v: the broker announces and does not mute", i, h.announced, took)
		}
	}
	return nil
}

// allThrottled is when the last connection has been throttled for the first
// time, in the time of the books.
func allThrottled(entries []entry, connections int) (time.Duration, error) {
	first := map[int]time.Duration{}
	for _, e := range entries {
		if e.throttle == 0 {
			continue
		}
		if t, ok := first[e.connection]; !ok || e.paid() < t {
			first[e.connection] = e.paid()
		}
	}
	if missing := connections - len(first); missing > 0 {
		return 0, fmt.Errorf("%d of %d connections were never throttled", missing, connections)
	}
	var last time.Duration
	for _, t := range first {
		last = max(last, t)
	}
	return last, nil
}
