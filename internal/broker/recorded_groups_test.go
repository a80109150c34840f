package broker_test

import (
	"reflect"
	"slices"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// givenMember is a member of a group that a recorded exchange tells of.
type givenMember struct {
	group, protocolType string
	instance            *string
	protocols           []message.JoinGroupProtocol
	unsynced            bool
}

// joined is what the broker calls it.
type joined struct {
	id         string
	generation int32
}

// join makes the member, and with an assignment unless it is to have none yet.
func (s *scene) join(m givenMember) joined {
	if m.protocolType == "" {
		m.protocolType = "consumer"
	}
	if len(m.protocols) == 0 {
		m.protocols = []message.JoinGroupProtocol{{Name: "range", Metadata: []byte("x")}}
	}
	p := dial(s.t, s.b.Plain)
	req := &message.JoinGroupRequest{GroupID: m.group, SessionTimeoutMs: 30_000, RebalanceTimeoutMs: 30_000, GroupInstanceID: m.instance,
		ProtocolType: m.protocolType, Protocols: m.protocols}
	resp := call[message.JoinGroupResponse](p, 9, req)
	if resp.ErrorCode == kafka.MemberIDRequired {
		req.MemberID = resp.MemberID
		resp = call[message.JoinGroupResponse](p, 9, req)
	}
	if resp.ErrorCode != kafka.NoError {
		s.t.Fatalf("join %s: %s", m.group, resp.ErrorCode)
	}
	if !m.unsynced {
		call[message.SyncGroupResponse](p, 5, &message.SyncGroupRequest{GroupID: m.group, GenerationID: resp.GenerationID, MemberID: resp.MemberID, GroupInstanceID: m.instance,
			ProtocolType: &m.protocolType, ProtocolName: resp.ProtocolName, Assignments: []message.SyncGroupAssignment{{MemberID: resp.MemberID, Assignment: []byte("x")}}})
	}
	return joined{resp.MemberID, resp.GenerationID}
}

// prepareGroups makes the groups that are told of, and puts our members in the
// request.
func (s *scene) prepareGroups() {
	switch m := s.asked.(type) {
	case *message.JoinGroupRequest:
		if s.code() == kafka.NoError && m.MemberID != "" {
			s.bend(&m.MemberID, nil, s.join(givenMember{group: m.GroupID, protocolType: m.ProtocolType, instance: m.GroupInstanceID, protocols: m.Protocols}))
		}
	case *message.SyncGroupRequest:
		if s.code() == kafka.NoError {
			s.prepareSync(m)
		}
	case *message.HeartbeatRequest:
		if code := s.code(); code == kafka.NoError || code == kafka.RebalanceInProgress {
			s.bend(&m.MemberID, &m.GenerationID, s.join(givenMember{group: m.GroupID, instance: m.GroupInstanceID}))
			if code == kafka.RebalanceInProgress {
				s.arrive(m.GroupID)
			}
		}
	case *message.LeaveGroupRequest:
		s.prepareLeave(m)
	case *message.OffsetCommitRequest:
		switch code := firstCode(s.recorded); {
		case m.MemberID != "" && code == kafka.NoError:
			s.bend(&m.MemberID, &m.GenerationIDOrMemberEpoch, s.join(givenMember{group: m.GroupID, instance: m.GroupInstanceID}))
		case code == kafka.UnknownMemberID:
			s.join(givenMember{group: m.GroupID})
		}
	case *message.OffsetFetchRequest:
		s.prepareOffsets(m)
	case *message.DeleteGroupsRequest:
		for _, r := range s.recorded.(*message.DeleteGroupsResponse).Results {
			if state := map[kafka.Code]string{0: "Empty", kafka.NonEmptyGroup: "Stable"}[r.ErrorCode]; state != "" {
				s.makeGroup(r.GroupID, state, "", nil)
			}
		}
	case *message.OffsetDeleteRequest:
		if s.recorded.(*message.OffsetDeleteResponse).ErrorCode == kafka.NoError {
			s.makeGroup(m.GroupID, "Empty", "", nil)
		}
	case *message.DescribeGroupsRequest:
		for _, g := range s.recorded.(*message.DescribeGroupsResponse).Groups {
			var instance *string
			for _, member := range g.Members {
				instance = member.GroupInstanceID
			}
			s.makeGroup(g.GroupID, g.GroupState, g.ProtocolType, instance)
		}
	case *message.ListGroupsRequest:
		for _, g := range s.recorded.(*message.ListGroupsResponse).Groups {
			s.makeGroup(g.GroupID, g.GroupState, g.ProtocolType, nil)
		}
	}
}

// arrive has a second member wait for the first to join again.
func (s *scene) arrive(group string) {
	p := dial(s.t, s.b.Plain)
	p.send(3, &message.JoinGroupRequest{GroupID: group, SessionTimeoutMs: 30_000, RebalanceTimeoutMs: 30_000, ProtocolType: "consumer",
		Protocols: []message.JoinGroupProtocol{{Name: "range", Metadata: []byte("x")}}})
	eventually(s.t, "the second member", func() bool {
		return call[message.DescribeGroupsResponse](s.admin, 5, &message.DescribeGroupsRequest{Groups: []string{group}}).Groups[0].GroupState == "PreparingRebalance"
	})
}

// code is the error of the whole answer.
func (s *scene) code() kafka.Code {
	return reflect.ValueOf(s.recorded).Elem().FieldByName("ErrorCode").Interface().(kafka.Code)
}

// firstCode is the first error inside an answer.
func firstCode(answer any) kafka.Code {
	var t givenTopic
	t.look(reflect.ValueOf(answer).Elem())
	return t.codes[0]
}

// bend puts our member in the request.
func (s *scene) bend(id *string, generation *int32, ours joined) {
	*id, s.bent = ours.id, true
	if generation != nil {
		*generation = ours.generation
	}
}

// prepareSync makes a member that is to sync: a leader that assigns, or a
// follower whose leader has done so.
func (s *scene) prepareSync(m *message.SyncGroupRequest) {
	var protocols []message.JoinGroupProtocol
	if m.ProtocolName != nil {
		protocols = []message.JoinGroupProtocol{{Name: *m.ProtocolName, Metadata: []byte("x")}}
	}
	leads := slices.ContainsFunc(m.Assignments, func(a message.SyncGroupAssignment) bool { return a.MemberID == m.MemberID })
	recorded := m.MemberID
	ours := s.join(givenMember{group: m.GroupID, protocolType: text(m.ProtocolType), instance: m.GroupInstanceID, protocols: protocols, unsynced: leads})
	s.bend(&m.MemberID, &m.GenerationID, ours)
	for i := range m.Assignments {
		if m.Assignments[i].MemberID == recorded {
			m.Assignments[i].MemberID = ours.id
		}
	}
}

func (s *scene) prepareLeave(m *message.LeaveGroupRequest) {
	if m.Members == nil && s.code() == kafka.NoError {
		s.bend(&m.MemberID, nil, s.join(givenMember{group: m.GroupID}))
		return
	}
	for i, answered := range s.recorded.(*message.LeaveGroupResponse).Members {
		if answered.ErrorCode != kafka.NoError {
			continue
		}
		left := &m.Members[i]
		named := left.MemberID != ""
		ours := s.join(givenMember{group: m.GroupID, instance: left.GroupInstanceID})
		if named {
			s.bend(&left.MemberID, nil, ours)
		}
		return // a second one would wait for this one to join again
	}
}

// makeGroup makes a group in a state, with the protocol of members that it has
// or had.
func (s *scene) makeGroup(name, state, protocol string, instance *string) {
	m := givenMember{group: name, protocolType: protocol, instance: instance}
	switch state {
	case "Empty", "": // old versions do not tell
		if protocol == "" {
			s.makeTopic(&givenTopic{name: "offsets-of-" + name, partitions: 1})
			s.commit(name, "offsets-of-"+name, message.OffsetFetchResponsePartition{})
			return
		}
		ours := s.join(m)
		call[message.LeaveGroupResponse](s.admin, 2, &message.LeaveGroupRequest{GroupID: name, MemberID: ours.id})
	case "Stable":
		s.join(m)
	case "CompletingRebalance":
		m.unsynced = true
		s.join(m)
	}
}

// commit keeps an offset for a group without members.
func (s *scene) commit(group, topic string, p message.OffsetFetchResponsePartition) {
	resp := call[message.OffsetCommitResponse](s.admin, 9, &message.OffsetCommitRequest{GroupID: group, GenerationIDOrMemberEpoch: -1, Topics: []message.OffsetCommitTopic{
		{Name: topic, Partitions: []message.OffsetCommitPartition{{PartitionIndex: p.PartitionIndex, CommittedOffset: p.CommittedOffset,
			CommittedLeaderEpoch: p.CommittedLeaderEpoch, CommittedMetadata: p.Metadata}}}}})
	if code := firstCode(resp); code != kafka.NoError {
		s.t.Fatalf("commit %s %s/%d: %s", group, topic, p.PartitionIndex, code)
	}
}

// prepareOffsets commits what is told as committed.
func (s *scene) prepareOffsets(m *message.OffsetFetchRequest) {
	resp := s.recorded.(*message.OffsetFetchResponse)
	s.commitAll(m.GroupID, resp.Topics)
	for _, g := range resp.Groups {
		s.commitAll(g.GroupID, g.Topics)
	}
}

func (s *scene) commitAll(group string, topics []message.OffsetFetchResponseTopic) {
	for _, t := range topics {
		for _, p := range t.Partitions {
			if p.CommittedOffset >= 0 {
				s.commit(group, s.nameOf(t.Name, t.TopicID), p)
			}
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
