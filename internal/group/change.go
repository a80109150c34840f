package group

import (
	"bytes"
	"fmt"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// change is one record of the journal: what has become of a group. Its key is
// the kind, its value the version of the layout, one byte, and the fields.
type change interface {
	codec.Message
	kind() string
	// group names the group that has changed.
	group() string
}

// layout is the version that changes are written in. A newer one adds fields
// behind if c.Version >= ...; all versions are read.
const layout = 0

// offsetsCommitted keeps offsets. Others of the group stay.
type offsetsCommitted struct {
	Group  string
	Topics []Topic
}

// offsetsDropped forgets offsets.
type offsetsDropped struct {
	Group  string
	Topics []droppedTopic
}

// membersChanged is the members and their generation, in place of those before.
type membersChanged struct {
	Group                          string
	ProtocolType, Protocol, Leader string
	Generation                     int32
	Since                          int64 // ms since the epoch
	Members                        []savedMember
}

// groupDeleted forgets a group with all that it has.
type groupDeleted struct {
	Group string
}

// rewritten says that all groups were written once more before it.
type rewritten struct{}

func (*offsetsCommitted) kind() string { return "OffsetsCommitted" }
func (*offsetsDropped) kind() string   { return "OffsetsDropped" }
func (*membersChanged) kind() string   { return "MembersChanged" }
func (*groupDeleted) kind() string     { return "GroupDeleted" }
func (*rewritten) kind() string        { return "Rewritten" }

func (m *offsetsCommitted) group() string { return m.Group }
func (m *offsetsDropped) group() string   { return m.Group }
func (m *membersChanged) group() string   { return m.Group }
func (m *groupDeleted) group() string     { return m.Group }
func (m *rewritten) group() string        { return "" }

// Fields are none.
func (m *rewritten) Fields(*codec.Cursor) {}

// Fields is the order in the journal.
func (m *offsetsCommitted) Fields(c *codec.Cursor) {
	c.String("Group", &m.Group, "name of the group")
	codec.Array(c, "Topics", "Topic", &m.Topics, "offsets by topic")
}

// Reset keeps the memory for the next commit.
func (m *offsetsCommitted) Reset() { m.Topics = m.Topics[:0] }

// Reset keeps the memory for the next topic.
func (m *Topic) Reset() { m.Partitions = m.Partitions[:0] }

// Reset keeps the note, which is mostly the same.
func (m *Partition) Reset() {}

// Fields is the order in the journal.
func (m *Topic) Fields(c *codec.Cursor) {
	c.UUID("Id", &m.ID, "id of the topic")
	c.String("Name", &m.Name, "its name")
	codec.Array(c, "Partitions", "Partition", &m.Partitions, "offsets by partition")
}

// Fields is the order in the journal.
func (m *Partition) Fields(c *codec.Cursor) {
	c.Int32("Partition", &m.Partition, "number of the partition")
	c.Int64("Offset", &m.Offset, "offset to read next")
	c.Int32("LeaderEpoch", &m.LeaderEpoch, "leader epoch of the record before it")
	c.String("Metadata", &m.Metadata, "what the client had kept beside it")
	c.Int64("At", &m.At, "when it was committed")
	c.Int64("Expires", &m.Expires, "when it lapses")
}

// Fields is the order in the journal.
func (m *offsetsDropped) Fields(c *codec.Cursor) {
	c.String("Group", &m.Group, "name of the group")
	codec.Array(c, "Topics", "Topic", &m.Topics, "partitions by topic")
}

// droppedTopic is partitions whose offsets go.
type droppedTopic struct {
	ID         kafka.TopicID
	Partitions []int32
}

// Fields is the order in the journal.
func (m *droppedTopic) Fields(c *codec.Cursor) {
	c.UUID("Id", &m.ID, "id of the topic")
	c.Int32s("Partitions", &m.Partitions, "numbers of the partitions")
}

// Fields is the order in the journal.
func (m *membersChanged) Fields(c *codec.Cursor) {
	c.String("Group", &m.Group, "name of the group")
	c.String("ProtocolType", &m.ProtocolType, "what the group is for")
	c.String("Protocol", &m.Protocol, "assignor of the generation")
	c.String("Leader", &m.Leader, "id of the member that assigns")
	c.Int32("Generation", &m.Generation, "the generation")
	c.Int64("Since", &m.Since, "when the group came to its state")
	codec.Array(c, "Members", "Member", &m.Members, "the members")
}

// savedMember is a member of a stable group.
type savedMember struct {
	ID, Instance, ClientID, Host string
	SessionMs, RebalanceMs       int32
	Protocols                    []savedProtocol
	Assignment                   []byte
}

// Fields is the order in the journal.
func (m *savedMember) Fields(c *codec.Cursor) {
	c.String("Id", &m.ID, "id of the member")
	c.String("Instance", &m.Instance, "name of a static member")
	c.String("ClientId", &m.ClientID, "client id of its last join")
	c.String("Host", &m.Host, "where that came from")
	c.Int32("SessionMs", &m.SessionMs, "how long it may be silent")
	c.Int32("RebalanceMs", &m.RebalanceMs, "how long it may take to join")
	codec.Array(c, "Protocols", "Protocol", &m.Protocols, "assignors it knows")
	c.Bytes("Assignment", &m.Assignment, "what it got")
}

type savedProtocol Protocol

// Fields is the order in the journal.
func (m *savedProtocol) Fields(c *codec.Cursor) {
	c.String("Name", &m.Name, "name of the assignor")
	c.Bytes("Metadata", &m.Metadata, "what it knows of the member")
}

// Fields is the order in the journal.
func (m *groupDeleted) Fields(c *codec.Cursor) {
	c.String("Group", &m.Group, "name of the group")
}

// encode is the value of a change's record.
func encode(c change) ([]byte, error) {
	value, err := codec.Encode([]byte{layout}, layout, true, c)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.kind(), err)
	}
	return value, nil
}

// decode reads a change back. It is nil for a kind or a layout of another
// version. The change shares the bytes of the value, and commits are all read
// into the one that is given: there are far more of them than of all others.
func decode(kind, value []byte, commit *offsetsCommitted) (change, error) {
	var c change
	switch string(kind) {
	case "OffsetsCommitted":
		commit.Reset()
		c = commit
	case "OffsetsDropped":
		c = new(offsetsDropped)
	case "MembersChanged":
		c = new(membersChanged)
	case "GroupDeleted":
		c = new(groupDeleted)
	case "Rewritten":
		c = new(rewritten)
	default:
		return nil, nil
	}
	if len(value) == 0 {
		return nil, fmt.Errorf("%s is empty", kind)
	}
	if value[0] > layout {
		return nil, nil
	}
	if err := codec.Decode(value[1:], int16(value[0]), true, c, 64*len(value)+1024); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return c, nil
}

// saved is the members as a change. A group that is rebalancing has none that
// could go on: after a restart they join again.
func (g *machine) saved() *membersChanged {
	c := &membersChanged{Group: g.name, ProtocolType: g.protocolType, Protocol: g.protocol, Leader: g.leader,
		Generation: g.generation, Since: g.since.UnixMilli()}
	if g.state != Stable {
		return c
	}
	for _, m := range g.inOrder {
		s := savedMember{ID: m.id, Instance: m.instance, ClientID: m.clientID, Host: m.host, Assignment: m.assignment,
			SessionMs: int32(m.session.Milliseconds()), RebalanceMs: int32(m.rebalance.Milliseconds())}
		for _, p := range m.protocols {
			s.Protocols = append(s.Protocols, savedProtocol(p))
		}
		c.Members = append(c.Members, s)
	}
	return c
}

// restore makes the members those of a change. Their sessions begin now.
func (g *machine) restore(c *membersChanged, now time.Time) {
	g.protocolType, g.protocol, g.leader, g.generation = c.ProtocolType, c.Protocol, c.Leader, c.Generation
	g.inOrder, g.kept, g.dealt = nil, 0, 0
	clear(g.members)
	clear(g.instances)
	g.known, g.everKnown = map[string]int{}, 0
	g.enter(Empty, time.UnixMilli(c.Since))
	for _, s := range c.Members {
		m := &member{id: s.ID, instance: s.Instance, clientID: s.ClientID, host: s.Host, assignment: bytes.Clone(s.Assignment), synced: true,
			session: time.Duration(s.SessionMs) * time.Millisecond, rebalance: time.Duration(s.RebalanceMs) * time.Millisecond}
		for _, p := range s.Protocols {
			m.protocols = append(m.protocols, Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)})
		}
		m.weigh(c.ProtocolType)
		g.enlist(m)
		g.dealt += int64(len(m.assignment))
		g.state = Stable
	}
	g.rearmSessions(now)
}

// rearmSessions begins the sessions of all members.
func (g *machine) rearmSessions(now time.Time) {
	g.due = time.Time{}
	for _, m := range g.inOrder {
		g.touch(m, now)
	}
}
