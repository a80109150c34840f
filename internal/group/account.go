package group

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// account is how many bytes the members of all groups keep, and how many they
// may. A client says how much that is: its protocols and assignments may fill a
// request each, in as many groups as it may join.
type account struct {
	limit int64 // may be exceeded by what a start has read back
	kept  atomic.Int64
	told  pause // of a request that was refused
}

// room is how many bytes the members of all groups may keep together: a sixteenth
// of the memory, but 16 MiB to 1 GiB. Writing members down takes three times what
// they keep for a moment, too.
func (o *Options) room() int64 {
	const least, unknown, most = 16 << 20, 64 << 20, 1 << 30
	if o.Memory == 0 {
		return unknown
	}
	return min(max(o.Memory/16, least), most)
}

// reserve takes room for what a group is about to grow by; false: there is none.
// Who does not grow is never refused. The group's lock is held.
func (a *account) reserve(g *group, more int64) bool {
	for more > 0 {
		kept := a.kept.Load()
		if more > a.limit-kept {
			return false
		}
		if a.kept.CompareAndSwap(kept, kept+more) {
			g.charged += more
			return true
		}
	}
	return true
}

// settle makes what a group was charged what it keeps. The group's lock is held.
func (a *account) settle(g *group) {
	keeps := g.keeps()
	a.kept.Add(keeps - g.charged)
	g.charged = keeps
}

var (
	errNoRoom = kafka.Errorf(kafka.GroupMaxSizeReached, "the members of all groups keep as many bytes as memory.limit has room for")
	// A sync cannot end with the code of a full group: its member is one.
	errNoRoomAssigned = kafka.Errorf(kafka.MessageTooLarge, "with these assignments the members of all groups keep more bytes than memory.limit has room for")
)

// fits reserves room for what a group is about to grow by. That there is none is
// told in the log.
func (c *Coordinator) fits(g *group, now time.Time, request string, more int64) bool {
	if c.account.reserve(g, more) {
		return true
	}
	if c.account.told.over(now) {
		c.logger.Warn("a request to a group is refused: the members of all groups would keep more bytes than memory.limit has room for; "+
			"have members that tell less, or fewer of them, or raise memory.limit",
			zap.String("group", g.name), zap.String("request", request), zap.Int64("bytes", more), zap.Int64("bytes_group", g.keeps()),
			zap.Int64("bytes_kept", c.account.kept.Load()), zap.Int64("bytes_allowed", c.account.limit), zap.Int64("memory.limit", c.o.Memory))
	}
	return false
}

// pause keeps a line out of the log that was there a moment ago.
type pause struct {
	told atomic.Int64 // when it was last, in ns since the epoch
}

// tellEvery is how often one line is told, at most.
const tellEvery = 10 * time.Second

// over says whether the line may be told again, and takes it for told.
func (p *pause) over(now time.Time) bool {
	last := p.told.Load()
	return now.UnixNano()-last >= int64(tellEvery) && p.told.CompareAndSwap(last, now.UnixNano())
}
