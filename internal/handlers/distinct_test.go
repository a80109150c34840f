package handlers

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// counted are the lengths of the arrays of an answer that are named, by walking
// from one to the next: "Groups" or "Topics.Partitions", where the second is the
// sum.
func counted(m codec.Message, path string) []int {
	at := []reflect.Value{reflect.ValueOf(m).Elem()}
	var lengths []int
	for name := range strings.SplitSeq(path, ".") {
		var next []reflect.Value
		for _, v := range at {
			all := v.FieldByName(name)
			for i := range all.Len() {
				next = append(next, all.Index(i))
			}
		}
		lengths, at = append(lengths, len(next)), next
	}
	return lengths
}

// What a request names twice is answered once, whatever else it names.
func TestNamedTwiceIsAnsweredOnce(t *testing.T) {
	r := newRig(t)
	topic := r.topic("a", 3)
	p := r.connect(plainListener)
	p.ask(kafka.KeyOffsetCommit, 2, &message.OffsetCommitRequest{GroupID: "kept", GenerationIDOrMemberEpoch: -1, RetentionTimeMs: -1,
		Topics: []message.OffsetCommitTopic{{Name: "a", Partitions: []message.OffsetCommitPartition{{PartitionIndex: 0}}}}})
	one, two, three := []int32{0}, []int32{0, 0}, []int32{1, 0, 1, 2}
	for _, c := range []struct {
		key     kafka.APIKey
		version int16
		req     codec.Message
		path    string
		want    []int
	}{
		{kafka.KeyListOffsets, 6, &message.ListOffsetsRequest{ReplicaID: -1, Topics: []message.ListOffsetsTopic{
			{Name: "a", Partitions: []message.ListOffsetsPartition{{PartitionIndex: 0, Timestamp: -1}, {PartitionIndex: 0, Timestamp: -2}}},
			{Name: "a", Partitions: []message.ListOffsetsPartition{{PartitionIndex: 0, Timestamp: -1}}},
		}}, "Topics.Partitions", []int{1, 1}},
		{kafka.KeyMetadata, 12, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{
			{TopicID: topic.ID}, {Name: ptr("a")}, {TopicID: topic.ID}, {Name: ptr("a")}, {TopicID: topic.ID},
		}}, "Topics", []int{2}},
		{kafka.KeyOffsetFetch, 8, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{
			{GroupID: "g", Topics: []message.OffsetFetchTopic{{Name: "a", PartitionIndexes: two}, {Name: "a", PartitionIndexes: three}, {Name: "b", PartitionIndexes: two}}},
			{GroupID: "h", Topics: []message.OffsetFetchTopic{{Name: "a", PartitionIndexes: one}}},
			{GroupID: "g", Topics: []message.OffsetFetchTopic{{Name: "a", PartitionIndexes: two}, {Name: "c", PartitionIndexes: one}}},
		}}, "Groups.Topics.Partitions", []int{2, 5, 6}},
		{kafka.KeyFetch, 12, &message.FetchRequest{ReplicaID: -1, SessionEpoch: -1, MaxBytes: 1, Topics: []message.FetchTopic{
			{Topic: "a", Partitions: []message.FetchPartition{{Partition: 0}, {Partition: 0}, {Partition: 1}}}, {Topic: "a", Partitions: []message.FetchPartition{{Partition: 0}}},
		}}, "Responses.Partitions", []int{1, 2}},
		{kafka.KeyOffsetFetch, 10, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{
			{GroupID: "g", Topics: []message.OffsetFetchTopic{{TopicID: topic.ID, PartitionIndexes: two}, {TopicID: topic.ID, PartitionIndexes: two}}},
		}}, "Groups.Topics.Partitions", []int{1, 1, 1}},
		{kafka.KeyOffsetFetch, 5, &message.OffsetFetchRequest{GroupID: "g", Topics: []message.OffsetFetchTopic{{Name: "a", PartitionIndexes: two}, {Name: "a", PartitionIndexes: one}}},
			"Topics.Partitions", []int{1, 1}},
		{kafka.KeyFindCoordinator, 4, &message.FindCoordinatorRequest{CoordinatorKeys: []string{"", "", "g", "", "g"}}, "Coordinators", []int{2}},
		{kafka.KeyDescribeGroups, 6, &message.DescribeGroupsRequest{Groups: []string{"", "", "g", "", "g"}}, "Groups", []int{2}},
		{kafka.KeyDeleteGroups, 2, &message.DeleteGroupsRequest{GroupsNames: []string{"g", "h", "g"}}, "Results", []int{2}},
		{kafka.KeyOffsetForLeaderEpoch, 4, &message.OffsetForLeaderEpochRequest{Topics: []message.OffsetForLeaderEpochTopic{
			{Topic: "a", Partitions: []message.OffsetForLeaderEpochPartition{{Partition: 1}, {Partition: 1}}},
			{Topic: "a", Partitions: []message.OffsetForLeaderEpochPartition{{Partition: 2}}},
		}}, "Topics.Partitions", []int{2, 2}},
		{kafka.KeyDescribeConfigs, 4, &message.DescribeConfigsRequest{Resources: []message.DescribeConfigsResource{
			{ResourceType: 4, ResourceName: "1", ConfigurationKeys: []string{"num.partitions"}}, {ResourceType: 4, ResourceName: "1", ConfigurationKeys: []string{"num.partitions"}},
			{ResourceType: 4, ResourceName: "01"}, {ResourceType: 4, ResourceName: "+1"},
		}}, "Results.Configs", []int{3, 1}},
		{kafka.KeyDescribeLogDirs, 4, &message.DescribeLogDirsRequest{Topics: []message.DescribeLogDirsTopic{{Topic: "a", Partitions: two}, {Topic: "a", Partitions: three}, {Topic: "a", Partitions: one}}},
			"Results.Topics.Partitions", []int{1, 2, 3}},
		{kafka.KeyElectLeaders, 2, &message.ElectLeadersRequest{TopicPartitions: []message.ElectLeadersTopic{{Topic: "a", Partitions: two}, {Topic: "a", Partitions: two}}},
			"ReplicaElectionResults.PartitionResult", []int{1, 1}},
		{kafka.KeyAlterPartitionReassignments, 0, &message.AlterPartitionReassignmentsRequest{Topics: []message.AlterPartitionReassignmentsTopic{
			{Name: "a", Partitions: []message.AlterPartitionReassignmentsPartition{{PartitionIndex: 0}, {PartitionIndex: 0}}},
		}}, "Responses.Partitions", []int{1, 1}},
		{kafka.KeyOffsetDelete, 0, &message.OffsetDeleteRequest{GroupID: "kept", Topics: []message.OffsetDeleteTopic{
			{Name: "b", Partitions: []message.OffsetDeletePartition{{PartitionIndex: 0}, {PartitionIndex: 0}}}, {Name: "b", Partitions: []message.OffsetDeletePartition{{PartitionIndex: 0}}},
		}}, "Topics.Partitions", []int{1, 1}},
		{kafka.KeyDescribeUserScramCredentials, 0, &message.DescribeUserScramCredentialsRequest{Users: []message.DescribeUserScramCredentialsUser{{Name: "u"}, {Name: "u"}}},
			"Results", []int{1}},
		{kafka.KeyDescribeProducers, 0, &message.DescribeProducersRequest{Topics: []message.DescribeProducersTopic{{Name: "a", PartitionIndexes: two}, {Name: "a", PartitionIndexes: one}}},
			"Topics.Partitions", []int{1, 1}},
		{kafka.KeyDescribeTopicPartitions, 0, &message.DescribeTopicPartitionsRequest{Topics: []message.DescribeTopicPartitionsTopic{{Name: "a"}, {Name: "a"}}, ResponsePartitionLimit: 10},
			"Topics.Partitions", []int{1, 3}},
		{kafka.KeyDescribeTopicPartitions, 0, &message.DescribeTopicPartitionsRequest{Topics: []message.DescribeTopicPartitionsTopic{{Name: "a"}, {Name: "a"}},
			Cursor: &message.DescribeTopicPartitionsCursor{TopicName: "b"}}, "Topics", []int{1}},
	} {
		t.Run(fmt.Sprint(c.key, " ", c.version), func(t *testing.T) {
			if diff := cmp.Diff(c.want, counted(p.ask(c.key, c.version, c.req).message, c.path)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.path, diff)
			}
		})
	}
}

// A request that names more than an answer may take memory for ends the
// connection; naming the same as often is fine.
func TestNamesOfARequestAreBounded(t *testing.T) {
	numbers := make([]int32, maxNamed+1)
	groups := make([]string, maxNamed+1)
	for i := range numbers {
		numbers[i], groups[i] = int32(i), fmt.Sprint(i)
	}
	half := numbers[:maxNamed/2+1]
	offsets := func(group string, numbers []int32) message.OffsetFetchGroup {
		return message.OffsetFetchGroup{GroupID: group, MemberEpoch: -1, Topics: []message.OffsetFetchTopic{{Name: "a", PartitionIndexes: numbers}}}
	}
	r := newRig(t)
	r.topic("a", 1)
	for _, c := range []struct {
		name    string
		key     kafka.APIKey
		version int16
		req     codec.Message
		ok      bool
	}{
		{"one group", kafka.KeyDescribeGroups, 6, &message.DescribeGroupsRequest{Groups: make([]string, maxNamed+1)}, true},
		{"groups", kafka.KeyDescribeGroups, 6, &message.DescribeGroupsRequest{Groups: groups}, false},
		{"one partition", kafka.KeyOffsetFetch, 9, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{offsets("g", make([]int32, maxNamed+1))}}, true},
		{"all partitions", kafka.KeyOffsetFetch, 9, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{{GroupID: "g", MemberEpoch: -1, Topics: many(maxPartitions, func(i int) message.OffsetFetchTopic {
			return message.OffsetFetchTopic{Name: groups[i], PartitionIndexes: numbers[:1:1]}
		})}}}, true},
		{"topics to make", kafka.KeyCreateTopics, 5, &message.CreateTopicsRequest{Topics: make([]message.CreateTopicsTopic, maxNamed+1)}, false},
		{"topics to delete", kafka.KeyDeleteTopics, 5, &message.DeleteTopicsRequest{TopicNames: groups}, false},
		{"partitions", kafka.KeyOffsetFetch, 9, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{offsets("g", numbers)}}, false},
		{"partitions of two groups", kafka.KeyOffsetFetch, 9, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{offsets("g", half), offsets("h", half)}}, false},
	} {
		if _, err := r.connect(plainListener).try(c.key, c.version, c.req); err == nil != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
