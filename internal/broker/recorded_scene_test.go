package broker_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// scene is a broker in which a recorded answer can be true: what the answer
// tells of is made before the request comes. What the broker gives a name to,
// topic ids, members, generations and sessions, has its own in the request.
type scene struct {
	t        *testing.T
	b        *brokertest.Broker
	admin    *peer
	r        *recorded
	api      message.API
	version  int16
	answered int16         // the version of the answer
	asked    codec.Message // nil when it cannot be read
	recorded codec.Message // nil when there is none
	bent     bool          // asked is no more what was recorded
	topics   []*givenTopic
}

func newScene(t *testing.T, b *brokertest.Broker, r *recorded, key kafka.APIKey, version int16) *scene {
	s := &scene{t: t, b: b, admin: dial(t, b.Plain), r: r, version: version, answered: version}
	if r.ResponseVersion != nil {
		s.answered = *r.ResponseVersion
	}
	api, ok := message.Lookup(key)
	s.api = api
	if !ok {
		return s
	}
	if len(r.Response) > 0 {
		s.recorded = api.NewResponse()
		_, body, err := codec.ParseResponseHeader(r.Response, api.FlexibleResponseHeader(s.answered))
		if err == nil {
			err = codec.Decode(body, s.answered, api.IsFlexible(s.answered), s.recorded, 1<<30)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if version < api.Min || version > api.Max {
		return s
	}
	asked := api.NewRequest()
	_, body, err := codec.ParseHeader(r.Request, api.IsFlexible(version))
	if err == nil && codec.Decode(body, version, api.IsFlexible(version), asked, 1<<30) == nil {
		s.asked = asked
	}
	return s
}

// request is the frame to send: the recorded one, unless it had to be bent.
func (s *scene) request() []byte {
	if !s.bent {
		return s.r.Request
	}
	h, _, err := codec.ParseHeader(s.r.Request, s.api.IsFlexible(s.version))
	if err != nil {
		s.t.Fatal(err)
	}
	frame, err := codec.EncodeRequest(h, s.api.IsFlexible(s.version), s.asked)
	if err != nil {
		s.t.Fatal(err)
	}
	return frame[4:]
}

// prepare makes what the answer tells of.
func (s *scene) prepare() {
	if s.r.User != "" {
		s.deny(s.r.User)
	}
	if s.r.throughLogIn() {
		s.admin.give(account{"scram1", "x", kafka.ScramSHA256})
		s.admin.give(account{"scram1", "x", kafka.ScramSHA512})
	}
	if s.asked == nil || s.recorded == nil && s.r.Outcome != "silent" {
		return
	}
	s.makeTopics()
	s.prepareGroups()
	s.prepareAdmin()
}

// deny takes everything from a user.
func (s *scene) deny(user string) {
	req := &message.CreateAclsRequest{}
	for kind, name := range map[kafka.ResourceType]string{kafka.ResourceTopic: "*", kafka.ResourceGroup: "*", kafka.ResourceTransactionalID: "*", kafka.ResourceCluster: "kafka-cluster"} {
		req.Creations = append(req.Creations, message.CreateAclsCreation{
			ResourceType: int8(kind), ResourceName: name, ResourcePatternType: int8(kafka.PatternLiteral), Principal: "User:" + user, Host: "*",
			Operation: int8(kafka.OpAll), PermissionType: int8(kafka.PermissionDeny),
		})
	}
	s.createACLs(req)
}

func (s *scene) createACLs(req *message.CreateAclsRequest) {
	for _, r := range call[message.CreateAclsResponse](s.admin, 2, req).Results {
		if r.ErrorCode != kafka.NoError {
			s.t.Fatalf("create a rule: %s", r.ErrorCode)
		}
	}
}

// makeTopics makes the topics that are told of, with as many records as are
// told of, and puts our ids in the request.
func (s *scene) makeTopics() {
	s.topics = topicsOf(s.asked, s.recorded)
	ids := map[kafka.TopicID]kafka.TopicID{}
	for _, t := range s.topics {
		if !t.exists() {
			continue
		}
		id := s.makeTopic(t)
		if !t.id.IsZero() {
			ids[t.id] = id
		}
	}
	if replaceIDs(s.asked, ids) {
		s.bent = true
	}
}

// nameOf is the name of a topic that was recorded by name or by id.
func (s *scene) nameOf(name string, id kafka.TopicID) string {
	for _, t := range s.topics {
		if t.name == name || !id.IsZero() && t.id == id {
			return t.name
		}
	}
	s.t.Fatalf("there is no topic %q %s", name, id)
	return ""
}

func (s *scene) makeTopic(t *givenTopic) kafka.TopicID {
	resp := call[message.CreateTopicsResponse](s.admin, 7, &message.CreateTopicsRequest{TimeoutMs: 30_000,
		Topics: []message.CreateTopicsTopic{{Name: t.name, NumPartitions: t.partitions, ReplicationFactor: 1, Configs: t.configs()}}})
	if got := resp.Topics[0]; got.ErrorCode == kafka.InvalidTopic {
		return kafka.TopicID{} // its name collides with that of another, which is the point
	} else if got.ErrorCode != kafka.NoError {
		s.t.Fatalf("create topic %s of %d: %s", t.name, t.partitions, got.ErrorCode)
	}
	for _, partition := range slices.Sorted(maps.Keys(t.ends)) {
		s.fill(t.name, partition, t.ends[partition], t.stamps[partition])
	}
	return resp.Topics[0].TopicID
}

// fill puts records into a partition until it ends where it should; the last of
// them has the timestamp.
func (s *scene) fill(topic string, partition int32, end, stamp int64) {
	if end <= 0 {
		return
	}
	if stamp <= 0 {
		stamp = time.Now().UnixMilli()
	}
	b := record.NewBuilder(record.None)
	if s.api.Key == kafka.KeyDescribeProducers {
		b.Producer(1, 0, 0)
	}
	for i := range end {
		b.Add(stamp-end+i+1, nil, []byte("v"))
	}
	req := produceRequest(topic, -1, b.Batch())
	req.TopicData[0].PartitionData[0].Index = partition
	if got := s.admin.producedTo(9, req); got.ErrorCode != kafka.NoError {
		s.t.Fatalf("fill %s/%d: %s", topic, partition, got.ErrorCode)
	}
}

// openSession opens the fetch session that the request goes on with.
func (s *scene) openSession(p *peer) {
	m, ok := s.asked.(*message.FetchRequest)
	if !ok || m.SessionEpoch <= 0 || s.code() != kafka.NoError {
		return
	}
	first := fetchRequest("", 0)
	first.SessionEpoch, first.MinBytes, first.Topics[0].TopicID = 0, 0, s.makeTopic(&givenTopic{name: "of-the-session", partitions: 1})
	opened := call[message.FetchResponse](p, s.version, first)
	m.SessionID, m.SessionEpoch, s.bent = opened.SessionID, 1, true
}

// prepareAdmin makes the quotas, credentials, rules and configs that are told
// of.
func (s *scene) prepareAdmin() {
	switch m := s.recorded.(type) {
	case *message.DescribeClientQuotasResponse:
		for _, e := range m.Entries {
			s.setQuotas(e)
		}
	case *message.DescribeUserScramCredentialsResponse:
		for _, user := range m.Results {
			for _, c := range user.CredentialInfos {
				s.admin.give(account{user.User, "x", kafka.ScramMechanism(c.Mechanism)})
			}
		}
	case *message.AlterUserScramCredentialsResponse:
		for _, d := range s.asked.(*message.AlterUserScramCredentialsRequest).Deletions {
			if slices.ContainsFunc(m.Results, func(r message.AlterUserScramCredentialsResponseResult) bool {
				return r.User == d.Name && r.ErrorCode == 0
			}) {
				s.admin.give(account{d.Name, "x", kafka.ScramMechanism(d.Mechanism)})
			}
		}
	case *message.DescribeAclsResponse:
		for _, r := range m.Resources {
			for _, acl := range r.ACLs {
				s.createACLs(&message.CreateAclsRequest{Creations: []message.CreateAclsCreation{{ResourceType: r.ResourceType, ResourceName: r.ResourceName,
					ResourcePatternType: r.PatternType, Principal: acl.Principal, Host: acl.Host, Operation: acl.Operation, PermissionType: acl.PermissionType}}})
			}
		}
	case *message.DeleteAclsResponse:
		for _, f := range m.FilterResults {
			for _, acl := range f.MatchingACLs {
				s.createACLs(&message.CreateAclsRequest{Creations: []message.CreateAclsCreation{{ResourceType: acl.ResourceType, ResourceName: acl.ResourceName,
					ResourcePatternType: acl.PatternType, Principal: acl.Principal, Host: acl.Host, Operation: acl.Operation, PermissionType: acl.PermissionType}}})
			}
		}
	case *message.DescribeProducersResponse:
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				s.fill(t.Name, p.PartitionIndex, min(1, int64(len(p.ActiveProducers))), 0)
			}
		}
	case *message.DescribeConfigsResponse:
		for _, r := range m.Results {
			s.setConfigs(r)
		}
	}
}

func (s *scene) setQuotas(e message.DescribeClientQuotasResponseEntry) {
	var entity []message.AlterClientQuotasEntity
	for _, c := range e.Entity {
		entity = append(entity, message.AlterClientQuotasEntity(c))
	}
	var ops []message.AlterClientQuotasOp
	for _, v := range e.Values {
		ops = append(ops, set(v.Key, v.Value))
	}
	s.admin.alterEntity(entity, ops...)
}

// setConfigs sets what is told as set for the topic.
func (s *scene) setConfigs(r message.DescribeConfigsResponseResult) {
	const dynamicTopic = 1
	resource := message.IncrementalAlterConfigsResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName}
	for _, c := range r.Configs {
		if c.ConfigSource == dynamicTopic {
			resource.Configs = append(resource.Configs, message.IncrementalAlterConfigsConfig{Name: c.Name, Value: c.Value})
		}
	}
	if len(resource.Configs) > 0 {
		call[message.IncrementalAlterConfigsResponse](s.admin, 1, &message.IncrementalAlterConfigsRequest{Resources: []message.IncrementalAlterConfigsResource{resource}})
	}
}
