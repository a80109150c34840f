package segment

import (
	"container/list"
	"sync"
)

// indexCache keeps the indexes of sealed segments, the least recently used
// going first when they grow beyond max bytes.
type indexCache struct {
	max int64

	mu    sync.Mutex
	bytes int64
	order *list.List // of *cached, most recent first
	byKey map[*segment]*list.Element
}

type cached struct {
	seg *segment
	idx *index
}

func newIndexCache(max int64) *indexCache {
	return &indexCache{max: max, order: list.New(), byKey: map[*segment]*list.Element{}}
}

func (c *indexCache) get(s *segment) *index {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[s]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).idx
}

func (c *indexCache) put(s *segment, x *index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(s)
	c.byKey[s] = c.order.PushFront(&cached{s, x})
	c.bytes += x.bytes()
	for c.bytes > c.max && c.order.Len() > 1 {
		c.remove(c.order.Back().Value.(*cached).seg)
	}
}

func (c *indexCache) drop(s *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(s)
}

// remove needs mu.
func (c *indexCache) remove(s *segment) {
	e := c.byKey[s]
	if e == nil {
		return
	}
	c.bytes -= e.Value.(*cached).idx.bytes()
	c.order.Remove(e)
	delete(c.byKey, s)
}
