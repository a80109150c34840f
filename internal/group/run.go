package group

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Run wakes groups when their time has come, lets old offsets go and keeps the
// log small, until ctx ends. When it returns it has left nothing running.
func (c *Coordinator) Run(ctx context.Context) error {
	var keeper sync.WaitGroup
	keeper.Go(func() { c.keep(ctx) }) // a slow disk must not make sessions last longer
	c.attend(ctx)
	keeper.Wait()
	return nil
}

// attend is the one goroutine of all timers.
func (c *Coordinator) attend(ctx context.Context) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-alarm.C:
		case <-c.timers.soon:
		}
		alarm.Reset(c.wake(time.Now()))
	}
}

// keep is what the journal needs from time to time.
func (c *Coordinator) keep(ctx context.Context) {
	retention := time.NewTicker(c.o.RetentionPass)
	defer retention.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-retention.C:
			c.retain(time.Now())
		case <-c.journal.full:
			c.shrink(ctx)
		}
	}
}

// wake lets the groups whose time has come act, and says when it is to be
// called again.
func (c *Coordinator) wake(now time.Time) time.Duration {
	for {
		due, next := c.timers.take(now)
		if len(due) == 0 {
			return next
		}
		for _, g := range due {
			c.own(g, now, func(g *group) { g.expire(now) })
		}
	}
}

// spare is how many times what must be kept the log may hold before it is
// rewritten: more would make the next start slow, less would write all too
// often.
const spare = 2

// shrink rewrites the log if that is worth it.
func (c *Coordinator) shrink(ctx context.Context) {
	least := c.weight()*spare + c.o.SpareLog
	if c.journal.size.Load() > least {
		before := c.journal.size.Load()
		if err := c.journal.rewrite(ctx, time.Now(), c.rewriteAll); err != nil {
			c.logger.Error("the log of groups grows, it could not be rewritten", zap.Error(err))
			least = c.journal.size.Load() + c.o.SpareLog
		} else {
			c.logger.Debug("log of groups rewritten", zap.Int64("bytes_before", before), zap.Int64("bytes_after", c.journal.size.Load()))
		}
	}
	c.journal.limit.Store(least)
}

// weight is about how many bytes the log takes that holds everything once.
func (c *Coordinator) weight() (bytes int64) {
	for _, g := range c.all() {
		g.mu.Lock()
		bytes += g.weight()
		g.mu.Unlock()
	}
	return bytes
}

// rewriteAll writes every group as it is, under its lock, so that what changes
// it comes before or after.
func (c *Coordinator) rewriteAll() error {
	for _, g := range c.all() {
		if err := c.rewriteOne(g); err != nil {
			return err
		}
	}
	return nil
}

func (c *Coordinator) rewriteOne(g *group) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == Dead {
		return nil
	}
	for batch := range g.whole() {
		if _, err := c.journal.append(time.Now(), batch); err != nil {
			return err
		}
	}
	return nil
}
