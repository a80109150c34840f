package group

import (
	"encoding/binary"
	"fmt"
	"testing"

	"kaasd/internal/kafka"
)

// TestVeryManyProtocols: what clients name costs no more than its size. Each
// compared with each of these would take minutes, and the group's lock with it.
func TestVeryManyProtocols(t *testing.T) {
	o := DefaultOptions()
	o.InitialDelay = 0
	ids := 0
	g := newMachine("g", &o, func() string { ids++; return fmt.Sprint(ids) }, dawn)
	joins := make([]*Join, 2)
	for i := range joins {
		joins[i] = consumer("")
		joins[i].Protocols = nil
		for j := range 100_000 {
			joins[i].Protocols = append(joins[i].Protocols, Protocol{Name: fmt.Sprintf("%d-%d", i, j)})
		}
		joins[i].Protocols = append(joins[i].Protocols, Protocol{Name: "common"}, Protocol{Name: "common"})
	}
	first, second := newFuture[Joined](), newFuture[Joined]()
	g.join(dawn, joins[0], first)
	g.look(dawn) // its rebalance need not wait
	g.join(dawn, joins[1], second)
	joins[0].MemberID = first.Value().MemberID
	g.join(dawn, joins[0], newFuture[Joined]())
	if got := second.Value(); got.Err != nil || got.Protocol != "common" {
		t.Errorf("they speak %q, %v", got.Protocol, got.Err)
	}
	if g.everKnown < 100_000 {
		t.Errorf("there were %d protocols", g.everKnown)
	}
	for range 2 {
		g.remove(g.inOrder[0], errUnknown)
	}
	if len(g.known) > 0 || g.everKnown > 0 {
		t.Errorf("%d protocols are known to nobody, there is room for %d", len(g.known), g.everKnown)
	}
}

// TestVeryManySubscriptions: whether members read a topic is asked of every
// offset that a group keeps. That too is to cost no more than there is.
func TestVeryManySubscriptions(t *testing.T) {
	const members, topics = 100, 3_000
	o := DefaultOptions()
	g := newMachine("g", &o, nil, dawn)
	var metadata []byte
	metadata = binary.BigEndian.AppendUint32(append(metadata, 0, 1), topics)
	for i := range topics {
		name := fmt.Sprintf("topic-%05d", i)
		metadata = append(binary.BigEndian.AppendUint16(metadata, uint16(len(name))), name...)
	}
	for i := range members {
		g.enlist(&member{id: fmt.Sprint(i), protocols: []Protocol{{Name: "range", Metadata: metadata}}})
	}
	g.protocolType = consumers
	g.enter(Stable, dawn)
	for i := range 2 * topics { // the second half is read by nobody
		g.offsets.put([]Topic{{ID: kafka.TopicID{byte(i), byte(i >> 8)}, Name: fmt.Sprintf("topic-%05d", i), Partitions: []Partition{{0, Committed{At: dawn.UnixMilli(), Expires: -1}}}}})
	}
	if gone := g.lapsed(dawn.Add(o.Retention)); len(gone) != topics {
		t.Errorf("the offsets of %d topics have lapsed, want %d", len(gone), topics)
	}
	refusal := g.mayDrop()
	for i := range 2 * topics {
		if err := refusal(fmt.Sprintf("topic-%05d", i)); (err != nil) != (i < topics) {
			t.Fatalf("topic %d: %v", i, err)
		}
	}
}
