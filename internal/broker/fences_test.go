package broker_test

import (
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// member is one of a group, by hand.
type member struct {
	*peer
	id         string
	instance   *string
	generation int32
	leads      bool
}

func (m *member) join() kafka.Code {
	m.t.Helper()
	resp := call[message.JoinGroupResponse](m.peer, 7, m.joining())
	if resp.ErrorCode == kafka.NoError || resp.ErrorCode == kafka.MemberIDRequired {
		m.id, m.generation, m.leads = resp.MemberID, resp.GenerationID, resp.Leader == resp.MemberID
	}
	return resp.ErrorCode
}

func (m *member) joining() *message.JoinGroupRequest {
	return &message.JoinGroupRequest{GroupID: "g", MemberID: m.id, GroupInstanceID: m.instance, SessionTimeoutMs: 30_000, RebalanceTimeoutMs: 30_000,
		ProtocolType: "consumer", Protocols: []message.JoinGroupProtocol{{Name: "range", Metadata: []byte("\x00\x01\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff")}}}
}

func (m *member) sync() kafka.Code {
	m.t.Helper()
	req := &message.SyncGroupRequest{GroupID: "g", GenerationID: m.generation, MemberID: m.id, GroupInstanceID: m.instance}
	if m.leads {
		req.Assignments = []message.SyncGroupAssignment{{MemberID: m.id, Assignment: []byte("all")}}
	}
	return call[message.SyncGroupResponse](m.peer, 3, req).ErrorCode
}

func (m *member) beat() kafka.Code {
	m.t.Helper()
	return call[message.HeartbeatResponse](m.peer, 3, &message.HeartbeatRequest{GroupID: "g", GenerationID: m.generation, MemberID: m.id, GroupInstanceID: m.instance}).ErrorCode
}

func (m *member) commit(offset int64) kafka.Code {
	m.t.Helper()
	return call[message.OffsetCommitResponse](m.peer, 7, &message.OffsetCommitRequest{GroupID: "g", GenerationIDOrMemberEpoch: m.generation, MemberID: m.id, GroupInstanceID: m.instance,
		Topics: []message.OffsetCommitTopic{{Name: "t", Partitions: []message.OffsetCommitPartition{{CommittedOffset: offset, CommittedLeaderEpoch: -1}}}},
	}).Topics[0].Partitions[0].ErrorCode
}

func (p *peer) group() message.DescribeGroupsResponseGroup {
	p.t.Helper()
	return call[message.DescribeGroupsResponse](p, 5, &message.DescribeGroupsRequest{Groups: []string{"g"}}).Groups[0]
}

// Who joins without an id is given one and comes with it: two joins and one
// member. One who never comes back is none.
func TestMembersComeTwice(t *testing.T) {
	b := brokertest.Start(t, atOnce)
	m := &member{peer: dial(t, b.Plain)}
	if code := m.join(); code != kafka.MemberIDRequired || m.id == "" {
		t.Fatalf("the first join: %s, id %q", code, m.id)
	}
	if got := m.group(); len(got.Members) != 0 || got.GroupState == "PreparingRebalance" {
		t.Errorf("one who has not come back: %+v", got)
	}
	ghost := &member{peer: dial(t, b.Plain)}
	if code := ghost.join(); code != kafka.MemberIDRequired || ghost.id == m.id {
		t.Fatalf("another: %s, id %q", code, ghost.id)
	}
	if code := m.join(); code != kafka.NoError || m.generation != 1 || !m.leads {
		t.Fatalf("the second join: %s, generation %d", code, m.generation)
	}
	if code := m.sync(); code != kafka.NoError {
		t.Fatal(code)
	}
	if got := m.group(); len(got.Members) != 1 || got.Members[0].MemberID != m.id || got.GroupState != "Stable" {
		t.Errorf("got %+v", got)
	}
	if code := m.beat(); code != kafka.NoError {
		t.Errorf("the ghost is waited for: %s", code)
	}
	if got := scrape(t, b).sum("kaasd_group_members", "group", "g"); got != 1 {
		t.Errorf("%v members are counted", got)
	}
}

// A static member's new life has the generation and the assignment of the old
// one, which is told at its next word, whatever it says.
func TestOldLifeIsFenced(t *testing.T) {
	lives(t, func(t *testing.T, b *brokertest.Broker, again func() *brokertest.Broker) {
		old := &member{peer: dial(t, b.Plain), instance: ptr("one")}
		old.newTopic("t")
		if joined, synced := old.join(), old.sync(); joined != kafka.NoError || synced != kafka.NoError {
			t.Fatal(joined, synced)
		}
		for life := range 3 {
			if life == 1 { // what is known of instances outlives the broker
				b = again()
				old.peer = dial(t, b.Plain)
			}
			now := &member{peer: dial(t, b.Plain), instance: ptr("one")}
			if joined, synced := now.join(), now.sync(); joined != kafka.NoError || synced != kafka.NoError || now.generation != 1 || now.id == old.id {
				t.Fatalf("life %d: %s, %s, generation %d, id %s after %s", life, joined, synced, now.generation, now.id, old.id)
			}
			for what, said := range map[string]func() kafka.Code{
				"heartbeat": old.beat, "sync": old.sync, "join": old.join, "commit": func() kafka.Code { return old.commit(1) }, "leave": old.leave,
			} {
				if code := said(); code != kafka.FencedInstanceID {
					t.Errorf("life %d: %s of the one before: %s", life, what, code)
				}
			}
			if beat, committed := now.beat(), now.commit(2); beat != kafka.NoError || committed != kafka.NoError {
				t.Errorf("life %d: %s, %s", life, beat, committed)
			}
			if got := now.group(); len(got.Members) != 1 || got.Members[0].MemberID != now.id || got.GroupState != "Stable" {
				t.Errorf("life %d: %+v", life, got)
			}
			old = now
		}
	}, atOnce)
}

func (m *member) leave() kafka.Code {
	m.t.Helper()
	resp := call[message.LeaveGroupResponse](m.peer, 3, &message.LeaveGroupRequest{GroupID: "g",
		Members: []message.LeaveGroupMember{{MemberID: m.id, GroupInstanceID: m.instance}}})
	if resp.ErrorCode != kafka.NoError {
		return resp.ErrorCode
	}
	return resp.Members[0].ErrorCode
}

// Offsets are a group's own while it has members: from outside nothing is
// committed (25), and what is not the generation is told so.
func TestCommitsFromOutside(t *testing.T) {
	b := brokertest.Start(t, atOnce)
	outside := &member{peer: dial(t, b.Plain), generation: -1}
	outside.newTopic("t")
	if code := outside.commit(5); code != kafka.NoError {
		t.Errorf("nobody is there: %s", code)
	}
	m := &member{peer: dial(t, b.Plain)}
	m.join()
	m.join()
	if code := m.commit(6); code != kafka.RebalanceInProgress {
		t.Errorf("before the assignment is known: %s", code)
	}
	if code := m.sync(); code != kafka.NoError {
		t.Fatal(code)
	}
	if code := outside.commit(7); code != kafka.UnknownMemberID {
		t.Errorf("from outside, with a member there: %s", code)
	}
	stale, stranger := *m, *m
	stale.generation, stranger.id = 7, "nobody"
	for name, c := range map[string]struct {
		who  *member
		want kafka.Code
	}{"another generation": {&stale, kafka.IllegalGeneration}, "nobody": {&stranger, kafka.UnknownMemberID}, "the member": {m, kafka.NoError}} {
		if code := c.who.commit(8); code != c.want {
			t.Errorf("%s: %s, want %s", name, code, c.want)
		}
	}
	if code := m.leave(); code != kafka.NoError {
		t.Fatal(code)
	}
	if code := outside.commit(9); code != kafka.NoError {
		t.Errorf("from outside, when it has left: %s", code)
	}
}
