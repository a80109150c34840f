package handlers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// reader is a join of a consumer that reads a topic.
func reader(name, id string) *message.JoinGroupRequest {
	return &message.JoinGroupRequest{GroupID: name, MemberID: id, SessionTimeoutMs: 10000, RebalanceTimeoutMs: 60000, ProtocolType: "consumer",
		Protocols: []message.JoinGroupProtocol{{Name: "range", Metadata: []byte("\x00\x01\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff")}}}
}

// newMember makes a member, with as many requests as that takes.
func (p *peer) newMember(version int16, req *message.JoinGroupRequest) *message.JoinGroupResponse {
	p.t.Helper()
	resp := p.ask(kafka.KeyJoinGroup, version, req).message.(*message.JoinGroupResponse)
	if resp.ErrorCode != kafka.MemberIDRequired {
		return resp
	}
	if version < 4 || resp.GenerationID != -1 || !strings.HasPrefix(resp.MemberID, p.clientID+"-") {
		p.t.Errorf("v%d: %+v", version, resp)
	}
	req.MemberID = resp.MemberID
	return p.ask(kafka.KeyJoinGroup, version, req).message.(*message.JoinGroupResponse)
}

// TestGroupJourney: one member's life, in every version of every API.
func TestGroupJourney(t *testing.T) {
	for level := range int16(10) {
		t.Run(fmt.Sprint("level ", level), func(t *testing.T) {
			r := newRig(t)
			r.topic("orders", 3)
			j := &journey{peer: r.connect(plainListener), level: level}
			joined := j.newMember(j.version(kafka.KeyJoinGroup), reader("g", ""))
			if joined.ErrorCode != 0 || joined.GenerationID != 1 || joined.Leader != joined.MemberID || len(joined.Members) != 1 || deref(joined.ProtocolName) != "range" {
				t.Fatalf("%+v", joined)
			}
			j.member(joined.MemberID)
			j.offsets(joined.MemberID)
			j.looks()
			j.ends(joined.MemberID)
		})
	}
}

// journey is a peer that speaks each API as high as it can up to a level.
type journey struct {
	*peer
	level int16
}

func (j *journey) version(key kafka.APIKey) int16 {
	api, _ := message.Lookup(key)
	return max(min(j.level, api.Max), api.Min)
}

func (j *journey) do(key kafka.APIKey, req codec.Message) codec.Message {
	j.t.Helper()
	return j.ask(key, j.version(key), req).message
}

func (j *journey) member(id string) {
	j.t.Helper()
	s := &message.SyncGroupRequest{GroupID: "g", GenerationID: 1, MemberID: id, ProtocolType: ptr("consumer"), ProtocolName: ptr("range"),
		Assignments: []message.SyncGroupAssignment{{MemberID: id, Assignment: []byte("all")}}}
	if got := j.do(kafka.KeySyncGroup, s).(*message.SyncGroupResponse); got.ErrorCode != 0 || string(got.Assignment) != "all" {
		j.t.Errorf("sync: %+v", got)
	}
	for generation, want := range map[int32]kafka.Code{1: 0, 2: kafka.IllegalGeneration} {
		if got := j.do(kafka.KeyHeartbeat, &message.HeartbeatRequest{GroupID: "g", GenerationID: generation, MemberID: id}).(*message.HeartbeatResponse); got.ErrorCode != want {
			j.t.Errorf("heartbeat of generation %d: %s", generation, got.ErrorCode)
		}
	}
}

func (j *journey) offsets(id string) {
	j.t.Helper()
	commit := &message.OffsetCommitRequest{GroupID: "g", GenerationIDOrMemberEpoch: 1, MemberID: id, RetentionTimeMs: -1, Topics: []message.OffsetCommitTopic{
		{Name: "orders", Partitions: []message.OffsetCommitPartition{{PartitionIndex: 1, CommittedOffset: 7, CommittedLeaderEpoch: 0, CommittedMetadata: ptr("note")},
			{PartitionIndex: 3}, {PartitionIndex: 0, CommittedMetadata: ptr(strings.Repeat("x", 4097))}, {PartitionIndex: 2, CommittedOffset: 5}}},
		{Name: "nope", Partitions: make([]message.OffsetCommitPartition, 1)}}}
	got := j.do(kafka.KeyOffsetCommit, commit).(*message.OffsetCommitResponse)
	want := []message.OffsetCommitResponseTopic{{Name: "orders", Partitions: []message.OffsetCommitResponsePartition{{PartitionIndex: 1},
		{PartitionIndex: 3, ErrorCode: kafka.UnknownTopicOrPartition}, {ErrorCode: kafka.OffsetMetadataTooLarge}, {PartitionIndex: 2}}},
		{Name: "nope", Partitions: []message.OffsetCommitResponsePartition{{ErrorCode: kafka.UnknownTopicOrPartition}}}}
	if diff := cmp.Diff(want, got.Topics); diff != "" {
		j.t.Error(diff)
	}
	asked := []message.OffsetFetchTopic{{Name: "orders", PartitionIndexes: []int32{1, 0, 9}}, {Name: "nope", PartitionIndexes: []int32{0}}}
	if got, want := j.fetchOffsets("g", asked), "orders/1:7 note orders/0:-1  orders/9:-1  nope/0:-1 "; got != want {
		j.t.Errorf("got %q, want %q", got, want)
	}
	if j.version(kafka.KeyOffsetFetch) >= 2 {
		if got, want := j.fetchOffsets("g", nil), "orders/1:7 note orders/2:5 "; got != want {
			j.t.Errorf("got %q, want %q", got, want)
		}
	}
}

// fetchOffsets gives what is kept in words.
func (j *journey) fetchOffsets(name string, asked []message.OffsetFetchTopic) string {
	j.t.Helper()
	req := &message.OffsetFetchRequest{GroupID: name, Topics: asked, Groups: []message.OffsetFetchGroup{{GroupID: name, MemberEpoch: -1, Topics: asked}}}
	resp := j.do(kafka.KeyOffsetFetch, req).(*message.OffsetFetchResponse)
	topics, code := resp.Topics, resp.ErrorCode
	if j.version(kafka.KeyOffsetFetch) >= 8 {
		topics, code = resp.Groups[0].Topics, resp.Groups[0].ErrorCode
	}
	if code != 0 {
		return code.String()
	}
	var words []string
	for _, t := range topics {
		for _, p := range t.Partitions {
			words = append(words, fmt.Sprintf("%s/%d:%d %s", t.Name, p.PartitionIndex, p.CommittedOffset, deref(p.Metadata)))
		}
	}
	return strings.Join(words, " ")
}

// looks: what administrators see.
func (j *journey) looks() {
	j.t.Helper()
	got := j.do(kafka.KeyDescribeGroups, &message.DescribeGroupsRequest{Groups: []string{"g", "nope"}, IncludeAuthorizedOperations: true}).(*message.DescribeGroupsResponse)
	g, nope := got.Groups[0], got.Groups[1]
	if g.ErrorCode != 0 || g.GroupState != "Stable" || g.ProtocolType != "consumer" || g.ProtocolData != "range" || len(g.Members) != 1 ||
		g.Members[0].ClientID != "tester" || g.Members[0].ClientHost != "/10.0.0.7" || string(g.Members[0].MemberAssignment) != "all" {
		j.t.Errorf("%+v", g)
	}
	version := j.version(kafka.KeyDescribeGroups)
	if version >= 3 && g.AuthorizedOperations != 3400 {
		j.t.Errorf("operations %d", g.AuthorizedOperations)
	}
	if nope.GroupState != "Dead" || (nope.ErrorCode == kafka.GroupIDNotFound) != (version >= 6) {
		j.t.Errorf("%+v", nope)
	}
	list := j.do(kafka.KeyListGroups, new(message.ListGroupsRequest)).(*message.ListGroupsResponse)
	if list.ErrorCode != 0 || len(list.Groups) != 1 || list.Groups[0].GroupID != "g" || list.Groups[0].ProtocolType != "consumer" {
		j.t.Errorf("%+v", list)
	}
	drop := &message.OffsetDeleteRequest{GroupID: "g", Topics: []message.OffsetDeleteTopic{{Name: "orders", Partitions: make([]message.OffsetDeletePartition, 1)}}}
	if got := j.do(kafka.KeyOffsetDelete, drop).(*message.OffsetDeleteResponse); got.ErrorCode != 0 || got.Topics[0].Partitions[0].ErrorCode != kafka.GroupSubscribedToTopic {
		j.t.Errorf("%+v", got)
	}
}

func (j *journey) ends(id string) {
	j.t.Helper()
	remove := func() kafka.Code {
		return j.do(kafka.KeyDeleteGroups, &message.DeleteGroupsRequest{GroupsNames: []string{"g"}}).(*message.DeleteGroupsResponse).Results[0].ErrorCode
	}
	if got := remove(); got != kafka.NonEmptyGroup {
		j.t.Errorf("delete: %s", got)
	}
	left := j.do(kafka.KeyLeaveGroup, &message.LeaveGroupRequest{GroupID: "g", MemberID: id, Members: []message.LeaveGroupMember{{MemberID: id}, {GroupInstanceID: ptr("none")}}}).(*message.LeaveGroupResponse)
	if left.ErrorCode != 0 {
		j.t.Errorf("%+v", left)
	}
	if j.version(kafka.KeyLeaveGroup) >= 3 && (left.Members[0].ErrorCode != 0 || left.Members[1].ErrorCode != kafka.UnknownMemberID) {
		j.t.Errorf("%+v", left)
	}
	if got := remove(); got != kafka.NoError {
		j.t.Errorf("delete: %s", got)
	}
	if got := remove(); got != kafka.GroupIDNotFound {
		j.t.Errorf("delete: %s", got)
	}
}

// TestFindCoordinator: it is always this broker, and there is none of
// transactions and of share groups.
func TestFindCoordinator(t *testing.T) {
	p := newRig(t).connect(plainListener)
	for version := range int16(7) {
		for kind, want := range map[int8]kafka.Code{keyGroup: 0, keyTransaction: kafka.UnsupportedVersion, keyShare: kafka.InvalidRequest, 3: kafka.InvalidRequest} {
			if version == 0 && kind != keyGroup {
				continue
			}
			if kind == keyTransaction && version == 2 {
				want = kafka.TransactionalIDAuthorizationFailed
			}
			var resp message.FindCoordinatorResponse
			p.get(kafka.KeyFindCoordinator, version, &message.FindCoordinatorRequest{Key: "a", KeyType: kind, CoordinatorKeys: []string{"a", ""}}, &resp)
			answers := resp.Coordinators
			if version < 4 {
				answers = []message.FindCoordinatorResponseCoordinator{{NodeID: resp.NodeID, Host: resp.Host, Port: resp.Port, ErrorCode: resp.ErrorCode}}
			}
			for _, a := range answers {
				found := a.NodeID == 1 && a.Host == "inside" && a.Port == 9092
				if a.ErrorCode != want || found != (want == 0) {
					t.Errorf("v%d, type %d: %+v", version, kind, a)
				}
			}
		}
	}
}

func TestListGroupsFilters(t *testing.T) {
	r := newRig(t)
	r.topic("orders", 1)
	p := r.connect(plainListener)
	p.newMember(0, reader("joining", ""))
	p.ask(kafka.KeyOffsetCommit, 2, &message.OffsetCommitRequest{GroupID: "empty", GenerationIDOrMemberEpoch: -1, RetentionTimeMs: -1,
		Topics: []message.OffsetCommitTopic{{Name: "orders", Partitions: make([]message.OffsetCommitPartition, 1)}}})
	for _, tt := range []struct {
		states, types []string
		want          string
	}{
		{nil, nil, "empty//Empty/classic joining/consumer/CompletingRebalance/classic"},
		{[]string{"empty", "Dead"}, []string{"CLASSIC"}, "empty//Empty/classic"},
		{[]string{"stable"}, nil, ""},
		{nil, []string{"consumer", "Share"}, ""},
		{nil, []string{"consumer", "classic"}, "empty//Empty/classic joining/consumer/CompletingRebalance/classic"},
	} {
		var resp message.ListGroupsResponse
		p.get(kafka.KeyListGroups, 5, &message.ListGroupsRequest{StatesFilter: tt.states, TypesFilter: tt.types}, &resp)
		var words []string
		for _, g := range resp.Groups {
			words = append(words, fmt.Sprintf("%s/%s/%s/%s", g.GroupID, g.ProtocolType, g.GroupState, g.GroupType))
		}
		if got := strings.Join(words, " "); got != tt.want {
			t.Errorf("%v %v: got %q, want %q", tt.states, tt.types, got, tt.want)
		}
	}
}

// TestJoinWaits: a join is answered when the others have joined; a peer that
// goes away, or a server that stops, ends the wait and not the membership.
func TestJoinWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.connect(plainListener).newMember(0, reader("g", ""))
		p := r.connect(plainListener)
		ctx, cancel := context.WithCancel(context.Background())
		p.ctx = ctx
		failed := make(chan error)
		go func() {
			_, err := p.try(kafka.KeyJoinGroup, 0, reader("g", ""))
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; err == nil {
			t.Error("a join whose peer is gone is answered")
		}
		d, _ := r.groups.Describe("g")
		if len(d.Members) != 2 {
			t.Errorf("%+v", d)
		}
		again := make(chan *message.JoinGroupResponse)
		go func() { again <- r.connect(plainListener).newMember(0, reader("g", d.Members[1].ID)) }()
		synctest.Wait()
		if got := r.connect(plainListener).newMember(0, reader("g", a.MemberID)); got.GenerationID != 2 || len(got.Members) != 2 {
			t.Errorf("%+v", got)
		}
		if got := <-again; got.GenerationID != 2 || got.Leader != a.MemberID || len(got.Members) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestSyncSaysItsProtocol: from version 5 on it must (KIP-559).
func TestSyncSaysItsProtocol(t *testing.T) {
	var resp message.SyncGroupResponse
	newRig(t).connect(plainListener).get(kafka.KeySyncGroup, 5, &message.SyncGroupRequest{GroupID: "g", MemberID: "nobody"}, &resp)
	if resp.ErrorCode != kafka.InconsistentGroupProtocol {
		t.Error(resp.ErrorCode)
	}
}

// TestOffsetsOfAnotherLife: a topic that is made anew has no offsets, also when
// nobody told the groups that the old one is gone.
func TestOffsetsOfAnotherLife(t *testing.T) {
	r := newRig(t)
	j := &journey{peer: r.connect(plainListener), level: 9}
	old := r.topic("orders", 1)
	commit := &message.OffsetCommitRequest{GroupID: "g", GenerationIDOrMemberEpoch: -1, Topics: []message.OffsetCommitTopic{
		{Name: "orders", Partitions: []message.OffsetCommitPartition{{CommittedOffset: 7}}}}}
	j.do(kafka.KeyOffsetCommit, commit)
	r.commit(metadata.TopicDeleted{ID: old.ID})
	r.topic("orders", 1)
	if got := j.fetchOffsets("g", []message.OffsetFetchTopic{{Name: "orders", PartitionIndexes: []int32{0}}}); got != "orders/0:-1 " {
		t.Error(got)
	}
	if got := j.fetchOffsets("g", nil); got != "" {
		t.Error(got)
	}
}

// TestOffsetsByTopicID: from version 10 on ids stand in place of names, also of
// all offsets of a group. One that is not known is an error, a topic that may
// not be seen is one too.
func TestOffsetsByTopicID(t *testing.T) {
	r := newRig(t, withACLs)
	mine, orders, unknown := r.topic("mine", 2).ID, r.topic("orders", 1).ID, kafka.TopicID{9}
	admin, alice := r.connectAs("admin"), r.connectAs("alice")
	create(admin, rule("User:alice", kafka.OpRead, kafka.ResourceGroup, "g"), rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "mine"))
	commit := &message.OffsetCommitRequest{GroupID: "g", GenerationIDOrMemberEpoch: -1}
	for _, id := range []kafka.TopicID{mine, orders, unknown, {}} {
		commit.Topics = append(commit.Topics, message.OffsetCommitTopic{TopicID: id, Partitions: []message.OffsetCommitPartition{{CommittedOffset: 7}, {PartitionIndex: 5}}})
	}
	committed := alice.ask(kafka.KeyOffsetCommit, 10, commit).message.(*message.OffsetCommitResponse)
	var got strings.Builder
	for _, topic := range committed.Topics {
		fmt.Fprintf(&got, "%s:%s,%s ", topic.TopicID, topic.Partitions[0].ErrorCode, topic.Partitions[1].ErrorCode)
	}
	want := fmt.Sprintf("%s:NONE,UNKNOWN_TOPIC_OR_PARTITION %s:TOPIC_AUTHORIZATION_FAILED,TOPIC_AUTHORIZATION_FAILED %s:UNKNOWN_TOPIC_ID,UNKNOWN_TOPIC_ID %s:UNKNOWN_TOPIC_ID,UNKNOWN_TOPIC_ID ",
		mine, orders, unknown, kafka.TopicID{})
	if got.String() != want {
		t.Errorf("commit:\n%s, want\n%s", got.String(), want)
	}
	admin.ask(kafka.KeyOffsetCommit, 10, commit)
	for i, name := range []string{"mine", "orders"} { // by which members subscribe
		if got := r.groups.AllCommitted("g"); len(got) != 2 || got[i].Name != name {
			t.Errorf("the group keeps %+v", got)
		}
	}
	all := alice.ask(kafka.KeyOffsetFetch, 10, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{{GroupID: "g", MemberEpoch: -1},
		{GroupID: "g", MemberEpoch: -1, Topics: []message.OffsetFetchTopic{{TopicID: mine, PartitionIndexes: []int32{0, 1, 9}}, {TopicID: orders, PartitionIndexes: []int32{0}}, {TopicID: unknown, PartitionIndexes: []int32{0}}}}}})
	got.Reset()
	for _, g := range all.message.(*message.OffsetFetchResponse).Groups {
		for _, topic := range g.Topics {
			for _, p := range topic.Partitions {
				fmt.Fprintf(&got, "%s/%d:%d %s ", topic.TopicID, p.PartitionIndex, p.CommittedOffset, p.ErrorCode)
			}
		}
		got.WriteByte('\n')
	}
	want = fmt.Sprintf("%[1]s/0:7 NONE \n%[1]s/0:7 NONE %[1]s/1:-1 NONE %[1]s/9:-1 NONE %[2]s/0:-1 TOPIC_AUTHORIZATION_FAILED %[3]s/0:-1 UNKNOWN_TOPIC_ID \n", mine, orders, unknown)
	if got.String() != want {
		t.Errorf("fetch:\n%s, want\n%s", got.String(), want)
	}
}

// TestDeletedGroups: from version 3 on a denial says what is denied; what a
// client has words for has none, and success neither.
func TestDeletedGroups(t *testing.T) {
	r := newRig(t, withACLs)
	r.topic("orders", 1)
	admin, alice := r.connectAs("admin"), r.connectAs("alice")
	for version := range int16(4) {
		admin.ask(kafka.KeyOffsetCommit, 2, &message.OffsetCommitRequest{GroupID: "g", GenerationIDOrMemberEpoch: -1, RetentionTimeMs: -1,
			Topics: []message.OffsetCommitTopic{{Name: "orders", Partitions: make([]message.OffsetCommitPartition, 1)}}})
		req := &message.DeleteGroupsRequest{GroupsNames: []string{"g", "nope"}}
		denied := alice.ask(kafka.KeyDeleteGroups, version, req).message.(*message.DeleteGroupsResponse).Results[0]
		if denied.ErrorCode != kafka.GroupAuthorizationFailed || (version >= 3) != strings.Contains(deref(denied.ErrorMessage), "User:alice") {
			t.Errorf("v%d: %+v", version, denied)
		}
		want := []message.DeleteGroupsResponseResult{{GroupID: "g"}, {GroupID: "nope", ErrorCode: kafka.GroupIDNotFound}}
		if diff := cmp.Diff(want, admin.ask(kafka.KeyDeleteGroups, version, req).message.(*message.DeleteGroupsResponse).Results); diff != "" {
			t.Errorf("v%d: %s", version, diff)
		}
	}
}

// TestGroupDenials: who may not use a group is told the same whether or not
// there is one.
func TestGroupDenials(t *testing.T) {
	r := newRig(t, withACLs)
	r.topic("orders", 1)
	admin, alice := r.connectAs("admin"), r.connectAs("alice")
	member := admin.newMember(3, reader("exists", ""))
	for key, ask := range groupRequests(member.MemberID) {
		api, _ := message.Lookup(key)
		for version := api.Min; version <= api.Max; version++ {
			var answers []string
			for _, name := range []string{"exists", "absent"} {
				answer, err := alice.exchange(alice.frame(key, version, ask(name)))
				if err != nil {
					t.Fatal(err)
				}
				text := string(answer[4:]) // without the correlation id
				if !strings.Contains(text, "\x00\x1e") && key != kafka.KeyListGroups {
					t.Errorf("%s v%d: no 30 in %x", key, version, text)
				}
				answers = append(answers, strings.ReplaceAll(text, name, "NAME"))
			}
			if answers[0] != answers[1] {
				t.Errorf("%s v%d: a group that exists gives\n%x, one that does not\n%x", key, version, answers[0], answers[1])
			}
		}
	}
}

// groupRequests are one request of each API about a group.
func groupRequests(member string) map[kafka.APIKey]func(name string) codec.Message {
	return map[kafka.APIKey]func(name string) codec.Message{
		kafka.KeyFindCoordinator: func(name string) codec.Message {
			return &message.FindCoordinatorRequest{Key: name, CoordinatorKeys: []string{name}}
		},
		kafka.KeyJoinGroup: func(name string) codec.Message { return reader(name, "") },
		kafka.KeySyncGroup: func(name string) codec.Message {
			return &message.SyncGroupRequest{GroupID: name, GenerationID: 1, MemberID: member, ProtocolType: ptr("consumer"), ProtocolName: ptr("range")}
		},
		kafka.KeyHeartbeat: func(name string) codec.Message {
			return &message.HeartbeatRequest{GroupID: name, GenerationID: 1, MemberID: member}
		},
		kafka.KeyLeaveGroup: func(name string) codec.Message {
			return &message.LeaveGroupRequest{GroupID: name, MemberID: member, Members: []message.LeaveGroupMember{{MemberID: member}}}
		},
		kafka.KeyOffsetCommit: func(name string) codec.Message {
			return &message.OffsetCommitRequest{GroupID: name, GenerationIDOrMemberEpoch: -1, Topics: []message.OffsetCommitTopic{{Name: "orders", Partitions: make([]message.OffsetCommitPartition, 1)}}}
		},
		kafka.KeyOffsetFetch: func(name string) codec.Message {
			asked := []message.OffsetFetchTopic{{Name: "orders", PartitionIndexes: []int32{0}}}
			return &message.OffsetFetchRequest{GroupID: name, Topics: asked, Groups: []message.OffsetFetchGroup{{GroupID: name}}}
		},
		kafka.KeyDescribeGroups: func(name string) codec.Message {
			return &message.DescribeGroupsRequest{Groups: []string{name}, IncludeAuthorizedOperations: true}
		},
		kafka.KeyListGroups: func(string) codec.Message { return &message.ListGroupsRequest{} },
		kafka.KeyDeleteGroups: func(name string) codec.Message {
			return &message.DeleteGroupsRequest{GroupsNames: []string{name}}
		},
		kafka.KeyOffsetDelete: func(name string) codec.Message {
			return &message.OffsetDeleteRequest{GroupID: name, Topics: []message.OffsetDeleteTopic{{Name: "orders", Partitions: make([]message.OffsetDeletePartition, 1)}}}
		},
	}
}

// TestGroupTopicDenials: with the group alone, offsets of topics stay hidden,
// whether or not there is such a topic.
func TestGroupTopicDenials(t *testing.T) {
	r := newRig(t, withACLs)
	r.topic("orders", 1)
	r.topic("mine", 1)
	admin, alice := r.connectAs("admin"), &journey{r.connectAs("alice"), 9}
	create(admin, rule("User:alice", kafka.OpRead, kafka.ResourceGroup, "g"), rule("User:alice", kafka.OpDelete, kafka.ResourceGroup, "g"),
		rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "mine"))
	commit := func(p *journey) *message.OffsetCommitResponse {
		req := &message.OffsetCommitRequest{GroupID: "g", GenerationIDOrMemberEpoch: -1}
		for _, name := range []string{"orders", "absent", "mine"} {
			req.Topics = append(req.Topics, message.OffsetCommitTopic{Name: name, Partitions: []message.OffsetCommitPartition{{CommittedOffset: 5}}})
		}
		return p.do(kafka.KeyOffsetCommit, req).(*message.OffsetCommitResponse)
	}
	commit(&journey{admin, 9})
	for i, want := range []kafka.Code{kafka.TopicAuthorizationFailed, kafka.TopicAuthorizationFailed, 0} {
		if got := commit(alice).Topics[i].Partitions[0].ErrorCode; got != want {
			t.Errorf("commit %d: %s", i, got)
		}
	}
	if got := alice.fetchOffsets("g", nil); got != "mine/0:5 " {
		t.Error(got)
	}
	asked := []message.OffsetFetchTopic{{Name: "orders", PartitionIndexes: []int32{0}}, {Name: "absent", PartitionIndexes: []int32{0}}}
	resp := alice.do(kafka.KeyOffsetFetch, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{{GroupID: "g", Topics: asked}}}).(*message.OffsetFetchResponse)
	for _, topic := range resp.Groups[0].Topics {
		if p := topic.Partitions[0]; p.ErrorCode != kafka.TopicAuthorizationFailed || p.CommittedOffset != -1 {
			t.Errorf("%+v", topic)
		}
	}
	drop := &message.OffsetDeleteRequest{GroupID: "g", Topics: []message.OffsetDeleteTopic{
		{Name: "orders", Partitions: make([]message.OffsetDeletePartition, 1)}, {Name: "absent", Partitions: make([]message.OffsetDeletePartition, 1)},
		{Name: "mine", Partitions: []message.OffsetDeletePartition{{PartitionIndex: 0}, {PartitionIndex: 4}}}}}
	dropped := alice.do(kafka.KeyOffsetDelete, drop).(*message.OffsetDeleteResponse)
	want := []message.OffsetDeleteResponseTopic{
		{Name: "orders", Partitions: []message.OffsetDeleteResponsePartition{{ErrorCode: kafka.TopicAuthorizationFailed}}},
		{Name: "absent", Partitions: []message.OffsetDeleteResponsePartition{{ErrorCode: kafka.TopicAuthorizationFailed}}},
		{Name: "mine", Partitions: []message.OffsetDeleteResponsePartition{{}, {PartitionIndex: 4, ErrorCode: kafka.UnknownTopicOrPartition}}}}
	if diff := cmp.Diff(want, dropped.Topics); diff != "" {
		t.Error(diff)
	}
	if got := (&journey{admin, 9}).fetchOffsets("g", nil); got != "orders/0:5 " {
		t.Error(got)
	}
	if list := alice.do(kafka.KeyListGroups, new(message.ListGroupsRequest)).(*message.ListGroupsResponse); len(list.Groups) != 1 {
		t.Errorf("%+v", list)
	}
}

// TestCommitRetention: a client of old says itself how long.
func TestCommitRetention(t *testing.T) {
	r := newRig(t)
	r.topic("orders", 1)
	p := r.connect(plainListener)
	before := time.Now().UnixMilli()
	p.ask(kafka.KeyOffsetCommit, 4, &message.OffsetCommitRequest{GroupID: "g", GenerationIDOrMemberEpoch: -1, RetentionTimeMs: 60000,
		Topics: []message.OffsetCommitTopic{{Name: "orders", Partitions: make([]message.OffsetCommitPartition, 1)}}})
	kept := r.groups.AllCommitted("g")[0].Partitions[0]
	if kept.Expires < before+60000 || kept.Expires > time.Now().UnixMilli()+60000 {
		t.Errorf("%+v", kept)
	}
}
