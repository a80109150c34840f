package message_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
)

// body is what every kmsg request and response can do.
type body interface {
	SetVersion(int16)
	AppendTo([]byte) []byte
	ReadFrom([]byte) error
	IsFlexible() bool
}

// direction is requests or responses of one API.
type direction struct {
	name   string
	ours   func() codec.Message
	theirs func() body
}

func directions(a message.API) []direction {
	return []direction{
		{"request", a.NewRequest, func() body { return kmsg.RequestForKey(int16(a.Key)) }},
		{"response", a.NewResponse, func() body { return kmsg.ResponseForKey(int16(a.Key)) }},
	}
}

// eachVersion runs f for both directions of every API in every version.
func eachVersion(t *testing.T, f func(t *testing.T, a message.API, v int16, d direction)) {
	for _, a := range message.APIs() {
		for v := a.Min; v <= a.Max; v++ {
			for _, d := range directions(a) {
				t.Run(fmt.Sprintf("%s/v%d/%s", a.Name, v, d.name), func(t *testing.T) { f(t, a, v, d) })
			}
		}
	}
}

// encode gives the bytes of a body.
func encode(t testing.TB, a message.API, v int16, m codec.Message) []byte {
	t.Helper()
	f, err := codec.EncodeResponse(0, v, a.IsFlexible(v), false, m)
	if err != nil {
		t.Fatalf("encode %s v%d: %v", a.Name, v, err)
	}
	defer f.Release()
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		t.Fatalf("write %s v%d: %v", a.Name, v, err)
	}
	return b.Bytes()[8:]
}

const plenty = 1 << 30

func decode(t testing.TB, a message.API, v int16, d direction, b []byte) codec.Message {
	t.Helper()
	m := d.ours()
	if err := codec.Decode(b, v, a.IsFlexible(v), m, plenty); err != nil {
		t.Fatalf("decode %x: %v", b, err)
	}
	return m
}

func theirs(t testing.TB, v int16, d direction, b []byte) body {
	t.Helper()
	k := d.theirs()
	k.SetVersion(v)
	if err := k.ReadFrom(b); err != nil {
		t.Fatalf("kmsg cannot read %x: %v", b, err)
	}
	return k
}

// TestFlexibleAsKmsg: the first flexible version of each API.
func TestFlexibleAsKmsg(t *testing.T) {
	eachVersion(t, func(t *testing.T, a message.API, v int16, d direction) {
		k := d.theirs()
		k.SetVersion(v)
		if k.IsFlexible() != a.IsFlexible(v) {
			t.Fatalf("flexible %v, want %v", a.IsFlexible(v), k.IsFlexible())
		}
	})
}

// TestRandomAsKmsg: random messages of either side are the same bytes and the
// same named values on the other.
func TestRandomAsKmsg(t *testing.T) {
	eachVersion(t, func(t *testing.T, a message.API, v int16, d direction) {
		for seed := range uint64(60) {
			m := d.ours()
			fill(rand.New(rand.NewPCG(seed, 1)), reflect.ValueOf(m).Elem())
			agree(t, a, v, d, encode(t, a, v, m))

			k := d.theirs()
			fill(rand.New(rand.NewPCG(seed, 2)), reflect.ValueOf(k).Elem())
			prune(reflect.ValueOf(k).Elem(), v)
			k.SetVersion(v)
			agree(t, a, v, d, k.AppendTo(nil))
		}
	})
}

// agree reads b with both codecs, compares what they read field by field, and
// writes it back with both.
func agree(t *testing.T, a message.API, v int16, d direction, b []byte) {
	t.Helper()
	m, k := decode(t, a, v, d, b), theirs(t, v, d, b)
	c := comparison{t, v}
	c.structs(d.name, reflect.ValueOf(m).Elem(), reflect.ValueOf(k).Elem())
	if again := encode(t, a, v, m); !bytes.Equal(again, b) {
		t.Fatalf("encodes to\n%x, want\n%x", again, b)
	}
	if again := k.AppendTo(nil); !bytes.Equal(again, b) {
		t.Fatalf("kmsg encodes to\n%x, want\n%x", again, b)
	}
}

// comparison holds values of this codec against those of kmsg, by name.
type comparison struct {
	t       *testing.T
	version int16
}

func (c comparison) structs(path string, m, k reflect.Value) {
	c.t.Helper()
	seen := map[string]bool{"Version": true, "UnknownTags": true}
	for i := range m.NumField() {
		name := m.Type().Field(i).Name
		other := kmsgName(k.Type(), name)
		if other == "" && c.version < twoTypes[m.Type().Name()+"."+name] {
			continue
		}
		if other == "" {
			c.t.Fatalf("%s: kmsg's %s has no field for %s", path, k.Type(), name)
		}
		seen[other] = true
		if c.version >= otherDefault[m.Type().Name()+"."+name] {
			c.values(path+"."+name, m.Field(i), k.FieldByName(other))
		}
	}
	for i := range k.NumField() {
		name := k.Type().Field(i).Name
		if !seen[name] && !unserved[k.Type().Name()+"."+name] {
			c.t.Fatalf("%s: kmsg's field %s has none here", path, name)
		}
	}
}

func (c comparison) values(path string, m, k reflect.Value) {
	c.t.Helper()
	if r, ok := m.Interface().(codec.Records); ok {
		m = reflect.ValueOf(r.Bytes)
	}
	if m.Kind() == reflect.Pointer && k.Kind() != reflect.Pointer {
		if m.IsNil() {
			c.absent(path, k)
			return
		}
		m = m.Elem()
	}
	switch m.Kind() {
	case reflect.Pointer:
		if m.IsNil() != k.IsNil() {
			c.t.Fatalf("%s: null is %v, kmsg has %v", path, m.IsNil(), k.IsNil())
		}
		if !m.IsNil() {
			c.values(path, m.Elem(), k.Elem())
		}
	case reflect.Struct:
		c.structs(path, m, k)
	case reflect.Slice:
		if m.Len() != k.Len() {
			c.t.Fatalf("%s: %d elements, kmsg has %d", path, m.Len(), k.Len())
		}
		for i := range m.Len() {
			c.values(fmt.Sprintf("%s[%d]", path, i), m.Index(i), k.Index(i))
		}
	default:
		c.scalars(path, m, k)
	}
}

// scalars also takes a string of kmsg's that may be null where Kafka's may
// not.
func (c comparison) scalars(path string, m, k reflect.Value) {
	c.t.Helper()
	if k.Kind() == reflect.Pointer && !k.IsNil() {
		k = k.Elem()
	}
	if m.Kind() == reflect.Float64 { // as bits, so that NaN equals itself
		m, k = reflect.ValueOf(math.Float64bits(m.Float())), reflect.ValueOf(math.Float64bits(k.Float()))
	}
	if m.Kind() != k.Kind() || !m.Equal(k.Convert(m.Type())) {
		c.t.Fatalf("%s: got %v, kmsg has %v", path, m, k)
	}
}

// absent: a tagged field that is not there has Kafka's default.
func (c comparison) absent(path string, k reflect.Value) {
	c.t.Helper()
	if k.Kind() == reflect.Struct {
		for i := range k.NumField() {
			if k.Type().Field(i).Name != "UnknownTags" {
				c.absent(path, k.Field(i))
			}
		}
		return
	}
	if x := k.Int(); x != -1 && x != math.MaxInt64 {
		c.t.Fatalf("%s: absent, kmsg has %d", path, x)
	}
}

// prune gives kmsg's tagged fields their defaults where Kafka's schema does
// not have them yet: kmsg writes them in every flexible version.
func prune(k reflect.Value, version int16) {
	switch k.Kind() {
	case reflect.Struct:
		fresh := reflect.New(k.Type())
		if d, ok := fresh.Interface().(interface{ Default() }); ok {
			d.Default()
			for i := range k.NumField() {
				if version < taggedSince[k.Type().Name()+"."+k.Type().Field(i).Name] {
					k.Field(i).Set(fresh.Elem().Field(i))
				}
			}
		}
		for i := range k.NumField() {
			if k.Type().Field(i).IsExported() {
				prune(k.Field(i), version)
			}
		}
	case reflect.Slice:
		for i := range k.Len() {
			prune(k.Index(i), version)
		}
	}
}

var taggedSince = map[string]int16{
	"FetchRequest.ReplicaState":                     15,
	"FetchRequestTopicPartition.HighWatermark":      18,
	"FetchRequestTopicPartition.ReplicaDirectoryID": 17,
	"FetchResponse.Brokers":                         16,
	"ProduceResponse.Brokers":                       10,
	"ProduceResponseTopicPartition.CurrentLeader":   10,
}

// otherDefault are fields for which kmsg has another default than Kafka's
// schema in the versions that lack them: below the number.
var otherDefault = map[string]int16{
	"UpdateFeaturesFeature.UpgradeType":      1,
	"ListOffsetsRequest.TimeoutMs":           10,
	"MetadataRequest.AllowAutoTopicCreation": 4,
}

// twoTypes are fields of types that kmsg has twice, the older of which lacks
// them: it serves the versions below the number.
var twoTypes = map[string]int16{
	"OffsetFetchTopic.TopicID":         8,
	"OffsetFetchResponseTopic.TopicID": 8,
}

// unserved are kmsg's fields of versions below or above those served.
var unserved = map[string]bool{
	"ApiVersionsRequest.ClusterID":                      true, // 5
	"ApiVersionsRequest.NodeID":                         true, // 5
	"DescribeConfigsResponseResourceConfig.IsDefault":   true, // 0
	"ListOffsetsRequestTopicPartition.MaxNumOffsets":    true, // 0
	"ListOffsetsResponseTopicPartition.OldStyleOffsets": true, // 0
	"OffsetCommitRequestTopicPartition.Timestamp":       true, // 1
}

// renamed are kmsg's names for what Kafka's schema calls otherwise.
var renamed = map[string][]string{
	"Assignment":                  {"MemberAssignment"},
	"Assignments":                 {"ReplicaAssignment", "Assignment", "GroupAssignment"},
	"AuthBytes":                   {"SASLAuthBytes"},
	"BatchIndex":                  {"RelativeOffset"},
	"BatchIndexErrorMessage":      {"ErrorMessage"},
	"BrokerID":                    {"NodeID"},
	"BrokerIDs":                   {"Replicas"},
	"ClusterAuthorizedOperations": {"AuthorizedOperations"},
	"CommittedLeaderEpoch":        {"LeaderEpoch"},
	"CommittedMetadata":           {"Metadata"},
	"CommittedOffset":             {"Offset"},
	"ConfigOperation":             {"Op"},
	"ConfigSource":                {"Source"},
	"ConfigurationKeys":           {"ConfigNames"},
	"EntityName":                  {"Name"},
	"EntityType":                  {"Type"},
	"FilterResults":               {"Results"},
	"ForgottenTopicsData":         {"ForgottenTopics"},
	"GenerationID":                {"Generation"},
	"GenerationIDOrMemberEpoch":   {"Generation"},
	"GroupID":                     {"Group"},
	"GroupInstanceID":             {"InstanceID"},
	"GroupState":                  {"State"},
	"GroupsNames":                 {"Groups"},
	"HostFilter":                  {"Host"},
	"Index":                       {"Partition"},
	"IsrNodes":                    {"ISR"},
	"Key":                         {"CoordinatorKey"},
	"KeyType":                     {"CoordinatorType"},
	"IsFutureKey":                 {"IsFuture"},
	"Leader":                      {"LeaderID"},
	"LeaderID":                    {"Leader"},
	"LogAppendTimeMs":             {"LogAppendTime"},
	"LogDir":                      {"Dir"},
	"MaxWaitMs":                   {"MaxWaitMillis"},
	"Mechanisms":                  {"SupportedMechanisms"},
	"MemberMetadata":              {"ProtocolMetadata"},
	"Metadata":                    {"ProtocolMetadata"},
	"Name":                        {"Topic"},
	"NodeEndpoints":               {"Brokers"},
	"PartitionData":               {"Partitions"},
	"PartitionIndex":              {"Partition"},
	"PartitionID":                 {"Partition"},
	"PartitionIndexes":            {"Partitions"},
	"PartitionResult":             {"Partitions"},
	"PartitionResponses":          {"Partitions"},
	"PatternType":                 {"ResourcePatternType"},
	"PatternTypeFilter":           {"ResourcePatternType"},
	"PrincipalFilter":             {"Principal"},
	"PartitionSize":               {"Size"},
	"Path":                        {"Dir"},
	"ProtocolData":                {"Protocol"},
	"ProtocolName":                {"Protocol"},
	"RackID":                      {"Rack"},
	"RebalanceTimeoutMs":          {"RebalanceTimeoutMillis"},
	"RecordErrors":                {"ErrorRecords"},
	"Records":                     {"RecordBatches"},
	"ReplicaEpoch":                {"Epoch"},
	"ReplicaID":                   {"ID"},
	"ReplicaNodes":                {"Replicas"},
	"ReplicaElectionResults":      {"Topics"},
	"ResourceName":                {"Name"},
	"ResourceNameFilter":          {"ResourceName"},
	"ResourceType":                {"Type"},
	"ResourceTypeFilter":          {"ResourceType"},
	"Responses":                   {"Topics", "Resources"},
	"Results":                     {"Topics", "Resources", "Groups", "Dirs"},
	"RetentionTimeMs":             {"RetentionTimeMillis"},
	"SessionLifetimeMs":           {"SessionLifetimeMillis"},
	"SessionTimeoutMs":            {"SessionTimeoutMillis"},
	"Synonyms":                    {"ConfigSynonyms"},
	"ThrottleTimeMs":              {"ThrottleMillis"},
	"TimeoutMs":                   {"TimeoutMillis"},
	"TopicAuthorizedOperations":   {"AuthorizedOperations"},
	"TopicConfigErrorCode":        {"ConfigErrorCode"},
	"TopicData":                   {"Topics"},
	"TopicName":                   {"Topic"},
	"TopicPartitions":             {"Topics"},
	"TransactionTimeoutMs":        {"TransactionTimeoutMillis"},
	"TransactionalID":             {"TransactionID"},
}

func kmsgName(k reflect.Type, name string) string {
	for _, other := range append([]string{name}, renamed[name]...) {
		if _, ok := k.FieldByName(other); ok {
			return other
		}
	}
	return ""
}
