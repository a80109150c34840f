package handlers

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// named asks for topics by name.
func named(names ...string) []message.MetadataRequestTopic {
	topics := []message.MetadataRequestTopic{}
	for _, name := range names {
		topics = append(topics, message.MetadataRequestTopic{Name: &name})
	}
	return topics
}

// told is one line per topic of an answer: name, code and partition count.
func told(resp *message.MetadataResponse) []string {
	lines := []string{}
	for _, t := range resp.Topics {
		lines = append(lines, fmt.Sprintf("%s %d %d", deref(t.Name), t.ErrorCode, len(t.Partitions)))
	}
	return lines
}

func TestMetadataTopics(t *testing.T) {
	const none = kafka.APIKey(kafka.KeyMetadata)
	for _, c := range []struct {
		name    string
		version int16
		req     message.MetadataRequest
		setup   func(*setup)
		want    []string
	}{
		{name: "v0 empty is all", version: 0, req: message.MetadataRequest{Topics: named()}, want: []string{"a 0 1", "b 0 3"}},
		{name: "v1 empty is none", version: 1, req: message.MetadataRequest{Topics: named()}, want: []string{}},
		{name: "v1 null is all", version: 1, want: []string{"a 0 1", "b 0 3"}},
		{name: "v13 null is all", version: 13, want: []string{"a 0 1", "b 0 3"}},
		{name: "twice is once", version: 9, req: message.MetadataRequest{Topics: named("b", "a", "b")}, want: []string{"b 0 3", "a 0 1"}},
		{name: "unknown", version: 9, req: message.MetadataRequest{Topics: named("x")}, want: []string{"x 3 0"}},
		{name: "bad names", version: 9, req: message.MetadataRequest{Topics: named("a b", "", "..")}, want: []string{"a b 17 0", " 17 0", ".. 17 0"}},
		{name: "made when asked for", version: 9, req: message.MetadataRequest{Topics: named("x", "y"), AllowAutoTopicCreation: true},
			want: []string{"x 0 4", "y 0 4"}},
		{name: "always allowed before v4", version: 3, req: message.MetadataRequest{Topics: named("x")}, want: []string{"x 0 4"}},
		{name: "a collision", version: 9, req: message.MetadataRequest{Topics: named("x.y", "x_y"), AllowAutoTopicCreation: true},
			want: []string{"x.y 0 4", "x_y 17 0"}},
		{name: "creation is off", version: 9, req: message.MetadataRequest{Topics: named("x"), AllowAutoTopicCreation: true},
			setup: func(s *setup) { s.properties = map[string]string{"auto.create.topics.enable": "false"} }, want: []string{"x 3 0"}},
		{name: "may describe, not create", version: 9, req: message.MetadataRequest{Topics: named("x", "a", "b"), AllowAutoTopicCreation: true},
			setup: func(s *setup) { s.authorizer = only{"DESCRIBE TOPIC:x", "DESCRIBE TOPIC:a"} }, want: []string{"x 29 0", "a 0 1", "b 29 0"}},
		{name: "may create this one", version: 9, req: message.MetadataRequest{Topics: named("x"), AllowAutoTopicCreation: true},
			setup: func(s *setup) { s.authorizer = only{"DESCRIBE TOPIC:x", "CREATE TOPIC:x"} }, want: []string{"x 0 4"}},
		{name: "all leaves out what may not be seen", version: 9,
			setup: func(s *setup) { s.authorizer = only{"DESCRIBE TOPIC:b"} }, want: []string{"b 0 3"}},
		{name: "by unknown id", version: 12, req: message.MetadataRequest{Topics: []message.MetadataRequestTopic{{TopicID: kafka.TopicID{9}}}}, want: []string{"(null) 100 0"}},
		{name: "by neither", version: 12, req: message.MetadataRequest{Topics: []message.MetadataRequestTopic{{}}}, want: []string{"(null) 100 0"}},
		{name: "by id before v12", version: 10, req: message.MetadataRequest{Topics: []message.MetadataRequestTopic{{TopicID: kafka.TopicID{9}, Name: ptr("a")}, {}}},
			want: []string{"a 42 0", " 42 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(s *setup) {
				s.properties = map[string]string{"num.partitions": "4"}
				if c.setup != nil {
					c.setup(s)
				}
			})
			r.topic("b", 3)
			r.topic("a", 1)
			var resp message.MetadataResponse
			r.connect(plainListener).get(none, c.version, &c.req, &resp)
			if diff := cmp.Diff(c.want, told(&resp)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMetadataDescribesThisBroker(t *testing.T) {
	r := newRig(t)
	made := r.topic("a", 2)
	for _, l := range []struct {
		name string
		conn *peer
		host string
		port int32
	}{{"inside", r.connect(plainListener), "inside", 9092}, {"outside", loggedIn(t, r), "outside", 19095}} {
		t.Run(l.name, func(t *testing.T) {
			var resp message.MetadataResponse
			l.conn.get(kafka.KeyMetadata, 12, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{TopicID: made.ID}}}, &resp)
			want := message.MetadataResponse{
				Brokers:   []message.MetadataResponseBroker{{NodeID: 1, Host: l.host, Port: l.port}},
				ClusterID: ptr("cluster-of-the-test-xx"), ControllerID: 1, ClusterAuthorizedOperations: message.NoOperations,
				Topics: []message.MetadataResponseTopic{{
					Name: ptr("a"), TopicID: made.ID, TopicAuthorizedOperations: message.NoOperations,
					Partitions: []message.MetadataResponsePartition{
						{PartitionIndex: 0, LeaderID: 1, LeaderEpoch: r.store.Epoch(), ReplicaNodes: []int32{1}, IsrNodes: []int32{1}, OfflineReplicas: []int32{}},
						{PartitionIndex: 1, LeaderID: 1, LeaderEpoch: r.store.Epoch(), ReplicaNodes: []int32{1}, IsrNodes: []int32{1}, OfflineReplicas: []int32{}},
					},
				}},
			}
			if diff := cmp.Diff(want, resp); diff != "" {
				t.Error(diff)
			}
			// Fetch and ListOffsets compare what was told here with the log.
			log, err := r.logs.find(made, 1)
			if err != nil || log.Offsets().Epoch != r.store.Epoch() {
				t.Errorf("the log is at leader epoch %d, the answer tells %d: %v", log.Offsets().Epoch, r.store.Epoch(), err)
			}
		})
	}
}

func TestAuthorizedOperations(t *testing.T) {
	r := newRig(t, func(s *setup) {
		s.authorizer = only{"DESCRIBE TOPIC:a", "READ TOPIC:a", "ALTER_CONFIGS CLUSTER:kafka-cluster", "DESCRIBE CLUSTER:kafka-cluster"}
	})
	r.topic("a", 1)
	c := r.connect(plainListener)
	var resp message.MetadataResponse
	c.get(kafka.KeyMetadata, 10, &message.MetadataRequest{Topics: named("a"), IncludeClusterAuthorizedOperations: true, IncludeTopicAuthorizedOperations: true}, &resp)
	if got, want := resp.Topics[0].TopicAuthorizedOperations, int32(1<<kafka.OpDescribe|1<<kafka.OpRead); got != want {
		t.Errorf("topic: got %b, want %b", got, want)
	}
	if got, want := resp.ClusterAuthorizedOperations, int32(1<<kafka.OpAlterConfigs|1<<kafka.OpDescribe); got != want {
		t.Errorf("cluster: got %b, want %b", got, want)
	}
	var cluster message.DescribeClusterResponse
	c.get(kafka.KeyDescribeCluster, 2, &message.DescribeClusterRequest{IncludeClusterAuthorizedOperations: true, EndpointType: 1}, &cluster)
	if got, want := cluster.ClusterAuthorizedOperations, int32(1<<kafka.OpAlterConfigs|1<<kafka.OpDescribe); got != want {
		t.Errorf("cluster: got %b, want %b", got, want)
	}
}

func TestDescribeCluster(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int16
		kind    int8
		want    message.DescribeClusterResponse
	}{
		{"version 0", 0, 0, message.DescribeClusterResponse{EndpointType: 1, ClusterID: "cluster-of-the-test-xx", ControllerID: 1,
			Brokers: []message.DescribeClusterResponseBroker{{BrokerID: 1, Host: "inside", Port: 9092}}, ClusterAuthorizedOperations: message.NoOperations}},
		{"version 2", 2, 1, message.DescribeClusterResponse{EndpointType: 1, ClusterID: "cluster-of-the-test-xx", ControllerID: 1,
			Brokers: []message.DescribeClusterResponseBroker{{BrokerID: 1, Host: "inside", Port: 9092}}, ClusterAuthorizedOperations: message.NoOperations}},
		{"controllers", 1, 2, message.DescribeClusterResponse{ErrorCode: 114, EndpointType: 2, ControllerID: -1,
			ErrorMessage: ptr("this is a broker: ask it for brokers (endpoint type 1), it has no controller endpoints"),
			Brokers:      []message.DescribeClusterResponseBroker{}, ClusterAuthorizedOperations: message.NoOperations}},
		{"another type", 1, 7, message.DescribeClusterResponse{ErrorCode: 115, EndpointType: 7, ControllerID: -1, ErrorMessage: ptr("endpoint type 7 is not known"),
			Brokers: []message.DescribeClusterResponseBroker{}, ClusterAuthorizedOperations: message.NoOperations}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			var resp message.DescribeClusterResponse
			r.connect(plainListener).get(kafka.KeyDescribeCluster, c.version, &message.DescribeClusterRequest{EndpointType: c.kind}, &resp)
			if diff := cmp.Diff(c.want, resp); diff != "" {
				t.Error(diff)
			}
		})
	}
}
