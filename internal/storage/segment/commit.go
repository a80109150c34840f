package segment

import (
	"context"
	"errors"
	"sync"
	"time"

	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// committer syncs one log for all who wait: while a sync runs, those who come
// gather for the next, so that one sync serves everybody who wrote before it
// began.
type committer struct {
	mu      sync.Mutex
	running bool   // a goroutine is at work
	wanted  bool   // another sync is due
	now     *round // under way
	next    *round // gathering; nil: nobody waits
}

// round is one sync and those who wait for it.
type round struct {
	target int64 // it covers everything below
	done   chan struct{}
	err    error
}

// kick makes sure that a sync begins after this call.
func (c *committer) kick(l *Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = true
	if !c.running && l.store.begin() {
		c.running = true
		go c.work(l)
	}
}

// join gives the round that covers offset.
func (c *committer) join(l *Log, offset int64) *round {
	c.mu.Lock()
	if c.now != nil && c.now.target >= offset {
		defer c.mu.Unlock()
		return c.now
	}
	if c.next == nil {
		c.next = &round{done: make(chan struct{})}
	}
	r := c.next
	c.mu.Unlock()
	c.kick(l)
	return r
}

func (c *committer) work(l *Log) {
	defer l.store.ended()
	for {
		c.mu.Lock()
		if !c.wanted {
			c.running = false
			c.mu.Unlock()
			return
		}
		r := c.next
		if r == nil {
			r = &round{done: make(chan struct{})}
		}
		r.target = l.end.Load()
		c.now, c.next, c.wanted = r, nil, false
		c.mu.Unlock()

		r.err = l.sync(true)
		c.mu.Lock()
		c.now = nil
		c.mu.Unlock()
		close(r.done)
	}
}

// Wait returns when everything below offset is committed. For want of descriptors
// it waits for some; the owner of a strict log, who could not go on after an error,
// until the stop.
func (l *Log) Wait(ctx context.Context, offset int64) error {
	for tries := 0; l.hw.Load() < offset; tries++ {
		if f := l.failed.Load(); f != nil {
			return f.err
		}
		if l.cfg.Load().Flush != storage.FlushAlways {
			return nil
		}
		r := l.commit.join(l, offset)
		select {
		case <-r.done:
			if errors.Is(r.err, vfs.ErrDescriptors) && (tries < shortTries || l.cfg.Load().Strict) {
				l.pause(ctx)
				continue
			}
			if r.err != nil {
				return r.err
			}
		case <-l.store.stopped:
			if l.hw.Load() >= offset { // by the sync of the stop
				return nil
			}
			return errStopped
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pause is what lies between two tries for want of descriptors.
func (l *Log) pause(ctx context.Context) {
	rest := time.NewTimer(shortPause)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-l.store.stopped:
	case <-ctx.Done():
	}
}
