package group

import (
	"context"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/codec/record"
	"kaasd/internal/storage"
)

// replay makes the groups what the log says.
func (c *Coordinator) replay(ctx context.Context, now time.Time) error {
	var commit offsetsCommitted
	next, err := storage.Replay(ctx, c.journal.log, func(r record.Record) error { return c.replayRecord(r, &commit, now) })
	if err != nil {
		return err
	}
	if end := c.journal.log.Offsets().End; next < end {
		c.logger.Warn("the last changes of groups are missing: a power cut came before they were synced", zap.Int64("records", end-next))
	}
	c.journal.size.Store(c.journal.log.Size())
	for _, g := range c.all() {
		if g.generation == 0 && !g.remains() {
			c.bury(g)
		}
		c.settleAccounts(g)
		c.timers.set(g, g.due)
	}
	return nil
}

func (c *Coordinator) replayRecord(r record.Record, commit *offsetsCommitted, now time.Time) error {
	change, err := decode(r.Key, r.Value, commit)
	if err != nil {
		return err
	}
	switch change := change.(type) {
	case nil:
		c.logger.Warn("change of a group of an unknown kind is skipped", zap.ByteString("kind", r.Key), zap.Int64("offset", r.Offset))
	case *offsetsCommitted:
		c.find(change.Group, true, now).offsets.put(change.Topics)
	case *offsetsDropped:
		c.find(change.Group, true, now).offsets.drop(change.Topics)
	case *membersChanged:
		c.find(change.Group, true, now).restore(change, now)
	case *groupDeleted:
		delete(c.groups, change.Group)
	}
	return nil
}
