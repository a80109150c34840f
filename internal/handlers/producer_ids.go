package handlers

import (
	"sync"

	"kaasd/internal/metadata"
)

// producerIDBlock is how many producer ids one commit reserves (KIP-730).
const producerIDBlock = 1000

// producerIDs gives out producer ids. No id is given twice, over restarts
// too: a block is reserved in the metadata before one of its ids is given, and
// what is left of it at a restart is never used.
type producerIDs struct {
	mu        sync.Mutex
	next, end int64 // what is left of the block
}

// take gives an id that nobody has.
func (p *producerIDs) take(c *call) (int64, error) {
	if id, ok := p.left(); ok {
		return id, nil
	}
	var start int64
	_, err := c.update(func(d *metadata.Draft) error {
		start = d.NextProducerID
		return d.Add(metadata.ProducerIDsReserved{Next: start + producerIDBlock})
	})
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.end = start+1, start+producerIDBlock
	return start, nil
}

func (p *producerIDs) left() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.end {
		return 0, false
	}
	p.next++
	return p.next - 1, true
}
