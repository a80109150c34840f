package handlers

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// codesIn are the error codes of the elements of an array of an answer.
func codesIn(m codec.Message, array string) []kafka.Code {
	all := reflect.ValueOf(m).Elem().FieldByName(array)
	var codes []kafka.Code
	for i := range all.Len() {
		codes = append(codes, all.Index(i).FieldByName("ErrorCode").Interface().(kafka.Code))
	}
	return codes
}

// leave ends the peer's context, as where it has gone.
func (p *peer) leave() {
	ended, end := context.WithCancel(p.ctx)
	end()
	p.ctx = ended
}

// Who may change nothing is told so while somebody else commits: the turn is
// held here, and whoever waited for it would be told of the context's end.
func TestDeniedTakesNoTurn(t *testing.T) {
	r := newRig(t, withACLs)
	id := r.topic("there", 1).ID
	name, missing := "there", newTopicID()
	denied, unsettled := kafka.TopicAuthorizationFailed, kafka.InvalidRequest
	cluster := kafka.ClusterAuthorizationFailed
	alice := r.connectAs("alice")
	alice.leave()
	_, err := r.Metadata.Update(t.Context(), func(*metadata.Draft) error {
		for _, c := range []struct {
			key     kafka.APIKey
			version int16
			req     codec.Message
			array   string
			want    []kafka.Code
		}{
			{kafka.KeyCreateTopics, 5, &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{newTopic("x", 1, 1), newTopic("y", 1, 1), newTopic("z", 1, 1), newTopic("y", 1, 1)}},
				"Topics", []kafka.Code{denied, unsettled, denied}},
			{kafka.KeyCreatePartitions, 3, &message.CreatePartitionsRequest{Topics: []message.CreatePartitionsTopic{{Name: "x", Count: 2}, {Name: "there", Count: 2}, {Name: "x", Count: 2}}},
				"Results", []kafka.Code{unsettled, denied}},
			{kafka.KeyDeleteTopics, 5, &message.DeleteTopicsRequest{TopicNames: []string{"x", "there", "x"}}, "Responses", []kafka.Code{unsettled, denied}},
			{kafka.KeyDeleteTopics, 6, &message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{TopicID: missing}, {TopicID: id}, {Name: &name}, {}, {Name: &name, TopicID: id}}},
				"Responses", []kafka.Code{kafka.UnknownTopicID, denied, denied, unsettled, denied}},
			{kafka.KeyAlterConfigs, 2, &message.AlterConfigsRequest{Resources: []message.AlterConfigsResource{{ResourceType: 2, ResourceName: "there"}, {ResourceType: 4, ResourceName: "1"}, {ResourceType: 3}}},
				"Responses", []kafka.Code{denied, cluster, unsettled}},
			{kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{
				increment(2, "there", "retention.ms=5"), increment(4, ""), increment(8, "1", "root=DEBUG"), increment(2, "x"), increment(2, "x"),
			}}, "Responses", []kafka.Code{denied, cluster, cluster, unsettled, unsettled}},
			{kafka.KeyCreateAcls, 3, &message.CreateAclsRequest{Creations: []message.CreateAclsCreation{rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "x")}}, "Results", []kafka.Code{cluster}},
			{kafka.KeyDeleteAcls, 3, &message.DeleteAclsRequest{Filters: []message.DeleteAclsFilter{{ResourceTypeFilter: 1, PatternTypeFilter: 1, Operation: 1, PermissionType: 1}}}, "FilterResults", []kafka.Code{cluster}},
			{kafka.KeyAlterUserScramCredentials, 0, scramOps("a:1", "b:1"), "Results", []kafka.Code{cluster, cluster}},
			{kafka.KeyAlterClientQuotas, 1, &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{entry("user=a", kafka.ProducerByteRate, 5.0)}}, "Entries", []kafka.Code{cluster}},
			{kafka.KeyMetadata, 9, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{Name: ptr("x")}}, AllowAutoTopicCreation: true}, "Topics", []kafka.Code{denied}},
		} {
			if diff := cmp.Diff(c.want, codesIn(alice.ask(c.key, c.version, c.req).message, c.array)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", fmt.Sprint(c.key, " ", c.version), diff)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What is allowed is done among what is not, each answered in its place.
func TestAllowedAmongDenied(t *testing.T) {
	r := newRig(t, withAuthorizer("ALTER TOPIC:b", "DELETE TOPIC:b", "ALTER_CONFIGS TOPIC:b", "DELETE TOPIC:none"))
	a, b := r.topic("a", 1).ID, r.topic("b", 1).ID
	p := r.connect(plainListener)
	for _, c := range []struct {
		key     kafka.APIKey
		version int16
		req     codec.Message
		array   string
		want    []kafka.Code
	}{
		{kafka.KeyCreatePartitions, 3, &message.CreatePartitionsRequest{Topics: []message.CreatePartitionsTopic{{Name: "a", Count: 2}, {Name: "b", Count: 2}}},
			"Results", []kafka.Code{kafka.TopicAuthorizationFailed, kafka.NoError}},
		{kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{
			increment(2, "a", "retention.ms=5"), increment(2, "b", "retention.ms=5"),
		}}, "Responses", []kafka.Code{kafka.TopicAuthorizationFailed, kafka.NoError}},
		{kafka.KeyDeleteTopics, 6, &message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{TopicID: a}, {TopicID: b}, {Name: ptr("none")}}},
			"Responses", []kafka.Code{kafka.TopicAuthorizationFailed, kafka.NoError, kafka.UnknownTopicOrPartition}},
	} {
		if diff := cmp.Diff(c.want, codesIn(p.ask(c.key, c.version, c.req).message, c.array)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.key, diff)
		}
	}
	if got := r.Metadata.Image().Topics(); len(got) != 1 || got[0].Name != "a" || got[0].Partitions != 1 {
		t.Errorf("what is left: %+v", got)
	}
}

// Whose connection ends while others commit changes nothing, and harms nobody.
func TestEndedBeforeItsTurn(t *testing.T) {
	r := newRig(t)
	r.topic("a", 1)
	p := r.connect(plainListener)
	p.leave()
	_, err := r.Metadata.Update(t.Context(), func(*metadata.Draft) error {
		for _, c := range []struct {
			key     kafka.APIKey
			version int16
			req     codec.Message
			array   string
		}{
			{kafka.KeyCreateTopics, 7, &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{newTopic("x", 1, 1)}}, "Topics"},
			{kafka.KeyCreatePartitions, 3, &message.CreatePartitionsRequest{Topics: []message.CreatePartitionsTopic{{Name: "a", Count: 2}}}, "Results"},
			{kafka.KeyDeleteTopics, 6, &message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{Name: ptr("a")}}}, "Responses"},
			{kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{increment(2, "a", "retention.ms=5")}}, "Responses"},
		} {
			if got := codesIn(p.ask(c.key, c.version, c.req).message, c.array); got[0] != kafka.UnknownServerError {
				t.Errorf("%s: %v", c.key, got)
			}
		}
		return nil
	})
	if m := r.Metadata.Image(); err != nil || len(m.Topics()) != 1 || m.Topics()[0].Partitions != 1 {
		t.Errorf("got %v and %+v", err, m.Topics())
	}
}
