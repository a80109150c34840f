package group

import (
	"time"

	"kaasd/internal/kafka"
)

// Commit asks to keep offsets: of a member, or with a generation below zero of
// somebody who only keeps them here.
type Commit struct {
	MemberID, InstanceID string
	Generation           int32
	// KnowsNoGroup says that the client understands GroupIDNotFound; older
	// ones are told IllegalGeneration.
	KnowsNoGroup bool
	Topics       []Topic
}

// foreign says whether nobody's generation is meant.
func (r *Commit) foreign() bool {
	return r.Generation < 0 && r.MemberID == "" && r.InstanceID == ""
}

// mayCommit says whether the offsets are to be kept, and begins the session of
// the member anew. Somebody outside may commit while the group has no members.
func (g *machine) mayCommit(now time.Time, r *Commit) error {
	switch {
	case g.state == Dead:
		return errDead
	case r.Generation < 0 && g.state == Empty:
		return nil
	case r.foreign():
		return kafka.Errorf(kafka.UnknownMemberID, "the group has members: only they may commit")
	}
	m, err := g.current(r.MemberID, r.InstanceID, r.Generation)
	if err != nil {
		return err
	}
	g.touch(m, now)
	if g.state == CompletingRebalance {
		return errRebalance
	}
	return nil
}

// mayDrop tells of topics whether the group's offsets in them may be removed
// from outside.
func (g *machine) mayDrop() (refusal func(topic string) error) {
	reads := g.subscribed()
	return func(topic string) error {
		if reads(topic) {
			return kafka.Errorf(kafka.GroupSubscribedToTopic, "members of the group read the topic")
		}
		return nil
	}
}

// mayDropAny says whether offsets of the group may be removed at all: without
// the consumers' protocol nobody knows what its members read.
func (g *machine) mayDropAny() error {
	if len(g.inOrder) > 0 && g.protocolType != consumers {
		return errNotEmpty
	}
	return nil
}

// remains says whether there is something to keep of the group.
func (g *machine) remains() bool {
	return g.state != Empty || len(g.pending) > 0 || len(g.offsets.byID) > 0
}

// lapsed are the offsets that nobody has asked for too long: in an empty group
// since its last member left, in one that only keeps offsets since they were
// committed, and in one with members where nobody reads the topic.
func (g *machine) lapsed(now time.Time) []droppedTopic {
	reads := g.subscribed()
	return g.offsets.find(func(t *topicOffsets, c Committed) bool {
		since := c.At
		switch {
		case g.state == Empty && g.protocolType != "":
			since = max(since, g.since.UnixMilli())
		case g.state == Empty:
		case g.state != Stable || g.protocolType != consumers || reads(t.name):
			return false
		}
		if c.Expires >= 0 {
			return now.UnixMilli() >= c.Expires
		}
		return now.UnixMilli()-since >= g.o.Retention.Milliseconds()
	})
}
