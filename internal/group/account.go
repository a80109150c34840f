package group

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// account is how many bytes all groups keep of one kind, and how many they may. A
// client says how much that is: its protocols and assignments may fill a request
// each, in as many groups as it may join, and it may commit offsets to any number of
// groups.
type account struct {
	kind  kind
	limit int64 // may be exceeded by what a start has read back
	kept  atomic.Int64
	told  pause // of a request that was refused
}

// kind is what an account is for.
type kind int

const (
	ofMembers kind = iota
	ofOffsets
	kinds
)

// String is the label of metrics.
func (k kind) String() string { return [kinds]string{"members", "offsets"}[k] }

// The lines of a request that is refused, by kind.
var noRoom = [kinds]string{
	"a request to a group is refused: the members of all groups would keep more bytes than memory.limit has room for; " +
		"have members that tell less, or fewer of them, or raise memory.limit",
	"a request to a group is refused: the committed offsets of all groups would keep more bytes than memory.limit has room for; " +
		"delete groups that nobody needs (kafka-consumer-groups.sh --delete), or raise memory.limit",
}

// room is how many bytes all groups may keep of a kind: for members a sixteenth of
// the memory, for offsets an eighth, but 16 MiB to 1 GiB. Writing members down takes
// three times what they keep for a moment, too.
func (o *Options) room(k kind) int64 {
	const least, unknown, most = 16 << 20, 1 << 30, 1 << 30
	part := [kinds]int64{16, 8}[k]
	if o.Memory == 0 {
		return unknown / part
	}
	return min(max(o.Memory/part, least), most)
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
			g.charged[a.kind] += more
			return true
		}
	}
	return true
}

// settle makes what a group was charged what it keeps. The group's lock is held.
func (a *account) settle(g *group, keeps int64) {
	a.kept.Add(keeps - g.charged[a.kind])
	g.charged[a.kind] = keeps
}

// settleAccounts settles all accounts with a group. Its lock is held.
func (c *Coordinator) settleAccounts(g *group) {
	c.members.settle(g, g.keeps())
	c.offsets.settle(g, g.keepsOffsets())
}

var (
	errNoRoom = kafka.Errorf(kafka.GroupMaxSizeReached, "the members of all groups keep as many bytes as memory.limit has room for")
	// A sync cannot end with the code of a full group: its member is one.
	errNoRoomAssigned = kafka.Errorf(kafka.MessageTooLarge, "with these assignments the members of all groups keep more bytes than memory.limit has room for")
	errNoRoomOffsets  = kafka.Errorf(kafka.InvalidCommitOffsetSize, "the committed offsets of all groups keep as many bytes as memory.limit has room for")
)

// fits reserves room for what a group is about to grow by. That there is none is
// told in the log.
func (c *Coordinator) fits(a *account, g *group, now time.Time, request string, more int64) bool {
	if a.reserve(g, more) {
		return true
	}
	if a.told.over(now) {
		c.logger.Warn(noRoom[a.kind], zap.String("group", g.name), zap.String("request", request), zap.Int64("bytes", more),
			zap.Int64("bytes_group", g.charged[a.kind]), zap.Int64("bytes_kept", a.kept.Load()), zap.Int64("bytes_allowed", a.limit), zap.Int64("memory.limit", c.o.Memory))
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
