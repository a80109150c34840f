package segment

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	producerBytes = 320     // what is kept of a producer, with its place among the others
	mostOfLog     = 1 << 16 // producers that one log remembers: each segment's snapshot names them
	looks         = 8       // at other logs, for one that remembers more than its share
)

// census keeps the producers that all logs remember at a bound: ids cost whoever
// makes them up nothing. Beyond it those that were silent for longest are
// forgotten: of the log that a new one came to if it has more than its share, else
// of another that has. So who fills a log with producers loses those, not other
// people's.
type census struct {
	most int64

	n atomic.Int64 // producers of all logs

	mu   sync.Mutex
	logs []*producers // that remember any; each knows its place
	hand int
}

// join counts a producer that p begins to remember, and has others forgotten for
// it. The lock of p's log is held.
func (c *census) join(p *producers) {
	if p.n.Add(1) == 1 {
		c.enter(p)
	}
	n := c.n.Add(1)
	if p.n.Load() > mostOfLog {
		p.forgetOldest()
		return
	}
	if n <= c.most {
		return
	}
	from := c.larger(p, n)
	if from != p && from != nil {
		if from.guard.TryLock() { // never waited for: it may want ours
			defer from.guard.Unlock()
		} else {
			from = nil
		}
	}
	if from == nil && n > c.most+c.most/8 { // the others were busy again and again
		from = p
	}
	for range 2 { // one for this, and one that could not be forgotten before
		if from != nil && c.n.Load() > c.most {
			from.forgetOldest()
		}
	}
}

// larger gives a log that remembers no less than its share of n: p, or the largest
// of some others that have more; nil when none of them has.
func (c *census) larger(p *producers, n int64) (found *producers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	share := n / int64(len(c.logs))
	if p.n.Load()*int64(len(c.logs)) >= n {
		return p
	}
	most := max(share, 1)
	for range min(looks, len(c.logs)) {
		c.hand = (c.hand + 1) % len(c.logs)
		if q := c.logs[c.hand]; q != p && q.n.Load() > most {
			found, most = q, q.n.Load()
		}
	}
	return found
}

// left counts some that p remembers no more.
func (c *census) left(p *producers, n int64) {
	c.n.Add(-n)
	if p.n.Add(-n) == 0 {
		c.leave(p)
	}
}

func (c *census) enter(p *producers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.place = len(c.logs)
	c.logs = append(c.logs, p)
}

// leave puts the last in the place of one that goes.
func (c *census) leave(p *producers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := len(c.logs) - 1
	c.logs[p.place] = c.logs[end]
	c.logs[p.place].place = p.place
	c.logs = slices.Delete(c.logs, end, end+1)
}
