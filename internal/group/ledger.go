package group

import (
	"context"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// Commit keeps offsets, durably as log.flush says before it returns. They are
// visible from when they are in the log, in the order of their commits.
func (c *Coordinator) Commit(ctx context.Context, now time.Time, name string, r *Commit) error {
	noGroup := kafka.IllegalGeneration
	if r.KnowsNoGroup {
		noGroup = kafka.GroupIDNotFound
	}
	var end int64
	var refused, failed error
	if !c.with(name, r.Generation < 0, now, func(g *group) {
		if refused = g.mayCommit(now, r); refused != nil || len(r.Topics) == 0 {
			return
		}
		if !c.fits(&c.offsets, g, now, "OffsetCommit", g.commitGrowth(r.Topics)) {
			refused = errNoRoomOffsets
			return
		}
		if end, failed = c.journal.append(now, &offsetsCommitted{Group: name, Topics: r.Topics}); failed == nil {
			g.offsets.put(r.Topics)
		}
	}) {
		return kafka.Errorf(noGroup, "there is no such group")
	}
	return c.written(ctx, end, refused, failed)
}

// nothing is the offset of a partition that has none.
var nothing = Committed{Offset: -1, LeaderEpoch: -1, Expires: -1}

// Committed fills in what a group keeps of some partitions; offset -1 where it
// keeps nothing.
func (c *Coordinator) Committed(name string, wanted []Topic) {
	var kept offsets
	if g := c.find(name, false, time.Time{}); g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		kept = g.offsets
	}
	for _, w := range wanted {
		t := kept.byID[w.ID]
		for i := range w.Partitions {
			p := &w.Partitions[i]
			p.Committed = nothing
			if t == nil {
				continue
			}
			if o, ok := t.partitions[p.Partition]; ok {
				p.Committed = o
			}
		}
	}
}

// AllCommitted is everything that a group keeps, in order of topics and
// partitions.
func (c *Coordinator) AllCommitted(name string) []Topic {
	g := c.find(name, false, time.Time{})
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.offsets.topics()
}

// Drop removes offsets of a group, and tells for each topic whether it was
// allowed.
func (c *Coordinator) Drop(ctx context.Context, now time.Time, name string, topics []Topic) (results []error, err error) {
	if name == "" {
		return nil, errInvalidGroup
	}
	var end int64
	var refused, failed error
	if !c.with(name, false, now, func(g *group) {
		if refused = g.mayDropAny(); refused != nil {
			return
		}
		var gone []droppedTopic
		refusal := g.mayDrop()
		for _, t := range topics {
			err := refusal(t.Name)
			results = append(results, err)
			if err == nil {
				gone = append(gone, dropped(t))
			}
		}
		end, failed = c.drop(g, now, gone)
	}) {
		return nil, errNoGroup
	}
	return results, c.written(ctx, end, refused, failed)
}

func dropped(t Topic) droppedTopic {
	d := droppedTopic{ID: t.ID}
	for _, p := range t.Partitions {
		d.Partitions = append(d.Partitions, p.Partition)
	}
	return d
}

// drop writes down that offsets are gone, and forgets them. The group's lock is
// held.
func (c *Coordinator) drop(g *group, now time.Time, gone []droppedTopic) (end int64, err error) {
	if len(gone) == 0 {
		return 0, nil
	}
	if end, err = c.journal.append(now, &offsetsDropped{Group: g.name, Topics: gone}); err == nil {
		g.offsets.drop(gone)
	}
	return end, err
}

// DropTopics forgets the offsets of topics that are gone.
func (c *Coordinator) DropTopics(now time.Time, gone func(kafka.TopicID) bool) {
	for _, g := range c.all() {
		c.own(g, now, func(g *group) {
			found := g.offsets.find(func(t *topicOffsets, _ Committed) bool { return gone(t.id) })
			if _, err := c.drop(g, now, found); err != nil {
				c.logger.Error("offsets of a deleted topic stay until the restart", zap.String("group", g.name), zap.Error(err))
			}
		})
	}
}

// retain is one pass over all groups: offsets that have lapsed go, and groups
// of which nothing is left.
func (c *Coordinator) retain(now time.Time) {
	for _, g := range c.all() {
		c.own(g, now, func(g *group) {
			_, err := c.drop(g, now, g.lapsed(now))
			if err == nil && !g.remains() && g.generation > 0 {
				if _, err = c.journal.append(now, &groupDeleted{Group: g.name}); err == nil {
					c.bury(g)
				}
			}
			if err != nil {
				c.logger.Error("offsets that have lapsed stay for now", zap.String("group", g.name), zap.Error(err))
			}
		})
	}
}
