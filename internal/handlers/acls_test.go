package handlers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/storage/vfs"
)

// withACLs is a rig of the users below, with admin as its super user.
func withACLs(s *setup) { s.credentials, s.superUsers = aclUsers, "User:admin" }

const aclUsers = `{"users":[{"username":"admin","authType":"plain","plainPassword":"admin-secret"},
	{"username":"alice","authType":"plain","plainPassword":"alice-secret"}]}`

// rule is an ACL of a request: allow, every host, literal.
func rule(principal string, op kafka.Operation, t kafka.ResourceType, name string, bend ...func(*message.CreateAclsCreation)) message.CreateAclsCreation {
	a := message.CreateAclsCreation{
		ResourceType: int8(t), ResourceName: name, ResourcePatternType: int8(kafka.PatternLiteral), Principal: principal, Host: "*",
		Operation: int8(op), PermissionType: int8(kafka.PermissionAllow),
	}
	for _, b := range bend {
		b(&a)
	}
	return a
}

func prefixed(a *message.CreateAclsCreation) { a.ResourcePatternType = int8(kafka.PatternPrefixed) }
func deny(a *message.CreateAclsCreation)     { a.PermissionType = int8(kafka.PermissionDeny) }

// create sends ACLs and gives the codes.
func create(c *peer, acls ...message.CreateAclsCreation) []kafka.Code {
	c.t.Helper()
	var resp message.CreateAclsResponse
	c.get(kafka.KeyCreateAcls, 3, &message.CreateAclsRequest{Creations: acls}, &resp)
	codes := []kafka.Code{}
	for _, r := range resp.Results {
		codes = append(codes, r.ErrorCode)
		if (deref(r.ErrorMessage) == "") != (r.ErrorCode == 0) {
			c.t.Errorf("%s has the message %s", r.ErrorCode, deref(r.ErrorMessage))
		}
	}
	return codes
}

// everyACL is the filter that finds all.
var everyACL = message.DescribeAclsRequest{ResourceTypeFilter: 1, PatternTypeFilter: 1, Operation: 1, PermissionType: 1}

// list gives a line for each ACL, after one for an error.
func list(c *peer, filter message.DescribeAclsRequest) []string {
	c.t.Helper()
	var resp message.DescribeAclsResponse
	c.get(kafka.KeyDescribeAcls, 3, &filter, &resp)
	lines := []string{}
	if resp.ErrorCode != 0 {
		lines = append(lines, resp.ErrorCode.String())
	}
	for _, r := range resp.Resources {
		for _, a := range r.ACLs {
			lines = append(lines, fmt.Sprintf("%d %s %d: %s %s %d %d", r.ResourceType, r.ResourceName, r.PatternType, a.Principal, a.Host, a.Operation, a.PermissionType))
		}
	}
	return lines
}

func TestACLs(t *testing.T) {
	fs := vfs.Memory()
	on := func(s *setup) { withACLs(s); s.fs = fs }
	r := newRig(t, on)
	c := r.connectAs("admin")
	good := []message.CreateAclsCreation{
		rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "orders"),
		rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "orders", deny),
		rule("User:alice", kafka.OpWrite, kafka.ResourceTopic, "ord\xff", prefixed),
		rule("User:*", kafka.OpDescribe, kafka.ResourceCluster, kafka.Cluster.Name),
		rule("User:bob", kafka.OpAll, kafka.ResourceGroup, "*"),
		rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "orders"), // again
	}
	if diff := cmp.Diff(make([]kafka.Code, 6), create(c, good...)); diff != "" {
		t.Error(diff)
	}
	all := []string{
		"2 orders 3: User:alice * 3 2", "2 orders 3: User:alice * 3 3", "2 ord\xff 4: User:alice * 4 3",
		"3 * 3: User:bob * 2 3", "4 kafka-cluster 3: User:* * 8 3",
	}
	if diff := cmp.Diff(all, list(c, everyACL)); diff != "" {
		t.Error(diff)
	}
	r.stop()
	r = newRig(t, on)
	c = r.connectAs("admin")
	if diff := cmp.Diff(all, list(c, everyACL)); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
	var gone message.DeleteAclsResponse
	c.get(kafka.KeyDeleteAcls, 3, &message.DeleteAclsRequest{Filters: []message.DeleteAclsFilter{
		{ResourceTypeFilter: 2, ResourceNameFilter: ptr("ord\xffers"), PatternTypeFilter: 2, Operation: 1, PermissionType: 1},
		{ResourceTypeFilter: 1, PatternTypeFilter: 1, PrincipalFilter: ptr("User:alice"), Operation: 1, PermissionType: 1},
		{ResourceTypeFilter: 9, PatternTypeFilter: 1, Operation: 1, PermissionType: 1},
		{ResourceTypeFilter: 1, PatternTypeFilter: 1, Operation: 1, PermissionType: 1, HostFilter: ptr("10.0.0.1")},
	}}, &gone)
	var found []string
	for _, f := range gone.FilterResults {
		found = append(found, fmt.Sprint(f.ErrorCode, " ", len(f.MatchingACLs)))
	}
	if diff := cmp.Diff([]string{"NONE 1", "NONE 3", "INVALID_REQUEST 0", "NONE 0"}, found); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(all[3:], list(c, everyACL)); diff != "" {
		t.Errorf("after the removal: %s", diff)
	}
	if n := r.lines.FilterLoggerName("audit").Len(); n != 4 {
		t.Errorf("%d audit lines for 3 ACLs and a refusal", n)
	}
}

// Filters that together match more than an answer may take memory for remove
// nothing.
func TestFiltersThatMatchTooMuch(t *testing.T) {
	c := newRig(t, withACLs).connectAs("admin")
	const acls = 501
	create(c, many(acls, func(i int) message.CreateAclsCreation {
		return rule("User:alice", kafka.OpRead, kafka.ResourceTopic, fmt.Sprint("t", i))
	})...)
	remove := func(filters int) (codes map[kafka.Code]int) {
		codes = map[kafka.Code]int{}
		resp := c.ask(kafka.KeyDeleteAcls, 3, &message.DeleteAclsRequest{Filters: many(filters, func(int) message.DeleteAclsFilter {
			return message.DeleteAclsFilter{ResourceTypeFilter: 1, PatternTypeFilter: 1, Operation: 1, PermissionType: 1}
		})}).message.(*message.DeleteAclsResponse)
		for _, f := range resp.FilterResults {
			codes[f.ErrorCode] += 1 + len(f.MatchingACLs)
		}
		return codes
	}
	filters := maxNamed/acls + 1
	if diff := cmp.Diff(map[kafka.Code]int{kafka.InvalidRequest: filters}, remove(filters)); diff != "" {
		t.Errorf("too many: %s", diff)
	}
	if n := len(list(c, everyACL)); n != acls {
		t.Errorf("%d of %d ACLs are left", n, acls)
	}
	if diff := cmp.Diff(map[kafka.Code]int{kafka.NoError: 2 * (1 + acls)}, remove(2)); diff != "" {
		t.Errorf("twice: %s", diff)
	}
}

func TestBadACLs(t *testing.T) {
	c := newRig(t, withACLs).connectAs("admin")
	number := func(f func(*message.CreateAclsCreation)) message.CreateAclsCreation {
		return rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "t", f)
	}
	got := create(c,
		rule("alice", kafka.OpRead, kafka.ResourceTopic, "t"), rule("User:alice", kafka.OpRead, kafka.ResourceTopic, ""),
		rule("User:alice", kafka.OpRead, kafka.ResourceCluster, "wrong"), rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "good"),
		number(func(a *message.CreateAclsCreation) { a.ResourceType = 1 }), number(func(a *message.CreateAclsCreation) { a.ResourcePatternType = 2 }),
		number(func(a *message.CreateAclsCreation) { a.Operation = 1 }), number(func(a *message.CreateAclsCreation) { a.PermissionType = 1 }),
		number(func(a *message.CreateAclsCreation) { a.Operation = 120 }), number(func(a *message.CreateAclsCreation) { a.ResourceType = -5 }),
	)
	if diff := cmp.Diff([]kafka.Code{42, 42, 42, 0, 42, 42, 42, 42, 42, 42}, got); diff != "" {
		t.Error(diff)
	}
	if got := list(c, message.DescribeAclsRequest{ResourceTypeFilter: 1, PatternTypeFilter: 0, Operation: 1, PermissionType: 1}); got[0] != "INVALID_REQUEST" {
		t.Errorf("a filter of an unknown pattern type: %v", got)
	}
	if got := list(c, everyACL); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
}

// There are not any number of ACLs. One that is there can be made again, and be
// deleted, which makes room.
func TestACLsAreBounded(t *testing.T) {
	c := newRig(t, withACLs).connectAs("admin")
	long := func(i int) message.CreateAclsCreation {
		x := strings.Repeat("x", 4000)
		return rule(fmt.Sprintf("User:%06d%s", i, x), kafka.OpRead, kafka.ResourceTopic, fmt.Sprintf("%06d%s", i, x), func(a *message.CreateAclsCreation) { a.Host = x })
	}
	made := 0
	for full := false; !full; {
		all := make([]message.CreateAclsCreation, 400)
		for i := range all {
			all[i] = long(made + i)
		}
		codes := create(c, all...)
		if i := slices.Index(codes, kafka.PolicyViolation); i >= 0 {
			codes, full = codes[:i], true
		}
		made += len(codes)
	}
	if got := create(c, long(0), long(made), rule("User:u", kafka.OpRead, kafka.ResourceTopic, strings.Repeat("n", 4097))); !slices.Equal(got, []kafka.Code{0, 44, 42}) {
		t.Errorf("one that is there, another, and one with a name of 4097 bytes: %v, want 0, 44, 42", got)
	}
	first := long(0).ResourceName
	var gone message.DeleteAclsResponse
	c.get(kafka.KeyDeleteAcls, 3, &message.DeleteAclsRequest{Filters: []message.DeleteAclsFilter{{
		ResourceTypeFilter: 1, ResourceNameFilter: &first, PatternTypeFilter: 1, Operation: 1, PermissionType: 1}}}, &gone)
	if got := create(c, long(made)); got[0] != 0 {
		t.Errorf("where one was deleted: %v, want 0", got)
	}
}

// Without an authorizer there are no ACLs; with one they are for who may alter
// and describe the cluster.
func TestACLsAreGuarded(t *testing.T) {
	for _, c := range []struct {
		name string
		code kafka.Code
		c    *peer
	}{
		{"no authorizer", kafka.SecurityDisabled, newRig(t).connect(plainListener)},
		{"no right", kafka.ClusterAuthorizationFailed, newRig(t, withACLs).connectAs("alice")},
		{"another right", kafka.ClusterAuthorizationFailed, newRig(t, withAuthorizer("ALTER_CONFIGS CLUSTER:kafka-cluster")).connect(plainListener)},
	} {
		t.Run(c.name, func(t *testing.T) {
			some := rule("User:alice", kafka.OpAll, kafka.ResourceCluster, kafka.Cluster.Name)
			if diff := cmp.Diff([]kafka.Code{c.code, c.code}, create(c.c, some, some)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{c.code.String()}, list(c.c, everyACL)); diff != "" {
				t.Error(diff)
			}
			var gone message.DeleteAclsResponse
			c.c.get(kafka.KeyDeleteAcls, 1, &message.DeleteAclsRequest{Filters: make([]message.DeleteAclsFilter, 2)}, &gone)
			if len(gone.FilterResults) != 2 || gone.FilterResults[1].ErrorCode != c.code || gone.FilterResults[1].ErrorMessage == nil {
				t.Errorf("got %+v", gone)
			}
		})
	}
}

// A new ACL is in force for connections that are open, before the answer.
func TestACLsAreLive(t *testing.T) {
	r := newRig(t, withACLs)
	r.topic("orders", 1)
	admin, alice := r.connectAs("admin"), r.connectAs("alice")
	seen := func() int {
		var resp message.MetadataResponse
		alice.get(kafka.KeyMetadata, 9, &message.MetadataRequest{}, &resp)
		return len(resp.Topics)
	}
	for _, step := range []struct {
		acl  message.CreateAclsCreation
		want int
	}{
		{rule("User:bob", kafka.OpRead, kafka.ResourceTopic, "orders"), 0},
		{rule("User:alice", kafka.OpRead, kafka.ResourceTopic, "or", prefixed), 1},
		{rule("User:*", kafka.OpDescribe, kafka.ResourceTopic, "*", deny, func(a *message.CreateAclsCreation) { a.Host = "10.0.0.8" }), 1},
		{rule("User:*", kafka.OpDescribe, kafka.ResourceTopic, "*", deny, func(a *message.CreateAclsCreation) { a.Host = "::ffff:10.0.0.7" }), 0},
	} {
		create(admin, step.acl)
		if got := seen(); got != step.want {
			t.Errorf("with %v: %d topics", step.acl, got)
		}
	}
}

// Who may write to some topic may get a producer id (KIP-679).
func TestIdempotentWrite(t *testing.T) {
	for right, want := range map[string]kafka.Code{
		"WRITE TOPIC:x": 0, "IDEMPOTENT_WRITE CLUSTER:kafka-cluster": 0, "READ TOPIC:x": 31, "WRITE CLUSTER:kafka-cluster": 31,
	} {
		var resp message.InitProducerIdResponse
		newRig(t, withAuthorizer(right)).connect(plainListener).get(kafka.KeyInitProducerID, 4, &message.InitProducerIdRequest{ProducerID: -1, ProducerEpoch: -1}, &resp)
		if resp.ErrorCode != want {
			t.Errorf("with %s: %s", right, resp.ErrorCode)
		}
	}
}

// A denied request gets the same answer whether or not the topic it names
// exists.
func TestDenialsLeakNothing(t *testing.T) {
	r := newRig(t, withACLs)
	r.topic("exists", 1)
	c := r.connectAs("alice")
	for name, ask := range map[string]func(topic string) (kafka.APIKey, int16, codec.Message){
		"produce": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyProduce, 9, produceTo(topic, kafka.TopicID{}, 0, 1, batch("a"))
		},
		"fetch": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyFetch, 11, fetchFrom(topic, kafka.TopicID{}, 0, 0)
		},
		"list offsets": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyListOffsets, 6, &message.ListOffsetsRequest{Topics: []message.ListOffsetsTopic{{Name: topic, Partitions: []message.ListOffsetsPartition{{Timestamp: -1}}}}}
		},
		"metadata": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyMetadata, 9, &message.MetadataRequest{Topics: named(topic), AllowAutoTopicCreation: true}
		},
		"create topics": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyCreateTopics, 5, &message.CreateTopicsRequest{Topics: []message.CreateTopicsTopic{newTopic(topic, 1, 1)}}
		},
		"delete topics": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyDeleteTopics, 5, &message.DeleteTopicsRequest{TopicNames: []string{topic}}
		},
		"delete records": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyDeleteRecords, 2, &message.DeleteRecordsRequest{Topics: []message.DeleteRecordsTopic{{Name: topic, Partitions: make([]message.DeleteRecordsPartition, 1)}}}
		},
		"create partitions": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyCreatePartitions, 3, &message.CreatePartitionsRequest{Topics: []message.CreatePartitionsTopic{{Name: topic, Count: 3}}}
		},
		"leader epochs": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyOffsetForLeaderEpoch, 4, &message.OffsetForLeaderEpochRequest{Topics: []message.OffsetForLeaderEpochTopic{{Topic: topic, Partitions: make([]message.OffsetForLeaderEpochPartition, 1)}}}
		},
		"describe configs": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyDescribeConfigs, 4, &message.DescribeConfigsRequest{Resources: []message.DescribeConfigsResource{{ResourceType: configTopic, ResourceName: topic}}}
		},
		"alter configs": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyAlterConfigs, 2, &message.AlterConfigsRequest{Resources: []message.AlterConfigsResource{{ResourceType: configTopic, ResourceName: topic}}}
		},
		"increment configs": func(topic string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{{ResourceType: configTopic, ResourceName: topic}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var answers []string
			for _, topic := range []string{"exists", "absent"} {
				frame, err := c.exchange(c.frame(ask(topic)))
				if err != nil {
					t.Fatal(err)
				}
				answer := string(frame[4:]) // without the correlation id
				if !strings.Contains(answer, "\x00\x1d") {
					t.Errorf("%s: no 29 in %x", topic, answer)
				}
				answers = append(answers, strings.ReplaceAll(answer, topic, "NAME"))
			}
			if answers[0] != answers[1] {
				t.Errorf("a topic that exists gives\n%x, one that does not\n%x", answers[0], answers[1])
			}
		})
	}
	if _, made := r.Metadata.Image().Topic("absent"); made {
		t.Error("the topic was made")
	}
}

// Who names a topic by its id and may not use it is not told its name.
func TestDenialsTellNoName(t *testing.T) {
	r := newRig(t, withACLs)
	id := r.topic("secret", 1).ID
	p := r.connectAs("alice")
	for _, c := range []struct {
		key     kafka.APIKey
		version int16
		req     codec.Message
	}{
		{kafka.KeyProduce, 13, produceTo("", id, 0, 1, batch("a"))},
		{kafka.KeyFetch, 13, fetchFrom("", id, 0, 0)},
		{kafka.KeyMetadata, 12, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{TopicID: id}}}},
		{kafka.KeyDeleteTopics, 6, &message.DeleteTopicsRequest{Topics: []message.DeleteTopicsTopic{{TopicID: id}}}},
	} {
		answer, err := p.exchange(p.frame(c.key, c.version, c.req))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(answer), "\x00\x1d") || strings.Contains(string(answer), "secret") {
			t.Errorf("%s: %q", c.key, answer)
		}
	}
}

// A denied administrator gets the same answer whether or not there is something
// to see or to change.
func TestDenialsOfAdministration(t *testing.T) {
	type exchange = func(name string) (kafka.APIKey, int16, codec.Message)
	r := newRig(t, withACLs, withKafkaModel)
	r.set(entry("user=exists", kafka.ProducerByteRate, 5.0))
	admin, alice := r.connectAs("admin"), r.connectAs("alice")
	alterScram(admin, scramOps("exists:1"))
	create(admin, rule("User:exists", kafka.OpRead, kafka.ResourceTopic, "orders"))
	for name, ask := range map[string]exchange{
		"describe quotas": func(user string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyDescribeClientQuotas, 1, &message.DescribeClientQuotasRequest{Components: []message.DescribeClientQuotasComponent{component("user=" + user)}}
		},
		"alter quotas": func(user string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyAlterClientQuotas, 1, &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{entry("user="+user, "-"+kafka.ProducerByteRate)}}
		},
		"describe credentials": func(user string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyDescribeUserScramCredentials, 0, &message.DescribeUserScramCredentialsRequest{Users: []message.DescribeUserScramCredentialsUser{{Name: user}}}
		},
		"alter credentials": func(user string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyAlterUserScramCredentials, 0, scramOps("-" + user + ":1")
		},
		"describe ACLs": func(user string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyDescribeAcls, 3, &message.DescribeAclsRequest{ResourceTypeFilter: 1, PatternTypeFilter: 1, PrincipalFilter: ptr("User:" + user), Operation: 1, PermissionType: 1}
		},
		"create ACLs": func(user string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyCreateAcls, 3, &message.CreateAclsRequest{Creations: []message.CreateAclsCreation{rule("User:"+user, kafka.OpRead, kafka.ResourceTopic, "orders")}}
		},
		"delete ACLs": func(user string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyDeleteAcls, 3, &message.DeleteAclsRequest{Filters: []message.DeleteAclsFilter{{ResourceTypeFilter: 1, PatternTypeFilter: 1, PrincipalFilter: ptr("User:" + user), Operation: 1, PermissionType: 1}}}
		},
		"describe a broker's configs": func(broker string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyDescribeConfigs, 4, &message.DescribeConfigsRequest{Resources: []message.DescribeConfigsResource{{ResourceType: configBroker, ResourceName: broker}}}
		},
		"alter a broker's configs": func(broker string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{{ResourceType: configBroker, ResourceName: broker}}}
		},
		"replace a broker's configs": func(broker string) (kafka.APIKey, int16, codec.Message) {
			return kafka.KeyAlterConfigs, 2, &message.AlterConfigsRequest{Resources: []message.AlterConfigsResource{{ResourceType: configBroker, ResourceName: broker}}}
		},
	} {
		var answers []string
		names := []string{"exists", "absent"}
		if strings.Contains(name, "broker") {
			names = []string{"1", "2"}
		}
		for _, subject := range names {
			frame, err := alice.exchange(alice.frame(ask(subject)))
			if err != nil {
				t.Fatal(name, err)
			}
			answer := string(frame[4:]) // without the correlation id
			if !strings.Contains(answer, "\x00\x1f") {
				t.Errorf("%s: no 31 in %x", name, answer)
			}
			answers = append(answers, strings.ReplaceAll(answer, subject, "NAME"))
		}
		if answers[0] != answers[1] {
			t.Errorf("%s: what exists gives\n%x, what does not\n%x", name, answers[0], answers[1])
		}
	}
}
