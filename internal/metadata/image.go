package metadata

import (
	"strings"

	"kaasd/internal/kafka"
)

// Image is everything the metadata log adds up to at one moment. It never
// changes: nothing in it may be written to.
type Image struct {
	// Broker is what is in force for this broker.
	Broker BrokerSettings
	// NextProducerID is the first producer id that is not reserved.
	NextProducerID int64

	env         *Options
	plain       TopicSettings // of a topic without overrides
	topics      []*Topic      // by name
	partitions  int
	byName      shards[string, *Topic]
	byID        shards[kafka.TopicID, *Topic]
	byFolded    shards[string, *Topic] // '.' and '_' made equal
	scrams      shards[scramKey, *kafka.ScramCredential]
	acls        shards[kafka.ACL, struct{}]
	quotas      shards[kafka.Entity, *keptQuota]
	aclsVersion int                          // counts changes of ACLs
	scramChange int                          // counts changes of SCRAM credentials
	held        [sorts]int                   // bytes that entries count, by sort (room.go)
	brokers     map[string]map[string]string // overrides by broker; "" is for all brokers
}

// Topic is one topic. It never changes.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Partitions int32
	Configs    map[string]string // overrides only, in plain form
	Settings   TopicSettings     // what is in force
}

// newImage is the image of an empty log.
func newImage(env *Options) *Image {
	env.table = propertiesWith(env.Listeners)
	m := &Image{
		env: env, byName: newShards[string, *Topic](hashName), byID: newShards[kafka.TopicID, *Topic](hashID),
		byFolded: newShards[string, *Topic](hashName), scrams: newShards[scramKey, *kafka.ScramCredential](scramKey.hash),
		acls: newShards[kafka.ACL, struct{}](hashACL), quotas: newShards[kafka.Entity, *keptQuota](hashEntity),
	}
	m.resolve()
	return m
}

// resolve computes what follows from the broker's configs.
func (m *Image) resolve() {
	m.Broker = m.brokerSettings()
	m.plain = m.topicSettings(nil)
}

// Topic finds a topic by name.
func (m *Image) Topic(name string) (*Topic, bool) { return m.byName.get(name) }

// TopicByID finds a topic by id.
func (m *Image) TopicByID(id kafka.TopicID) (*Topic, bool) { return m.byID.get(id) }

// Topics are all topics in order of their names. The slice is shared.
func (m *Image) Topics() []*Topic { return m.topics }

// Gone are the topics that are not there any more in a later image.
func (m *Image) Gone(next *Image) []*Topic {
	var gone []*Topic
	after := next.topics
	for _, t := range m.topics { // both are in order of the names
		for len(after) > 0 && after[0].Name < t.Name {
			after = after[1:]
		}
		if len(after) == 0 || after[0].ID != t.ID {
			gone = append(gone, t)
		}
	}
	return gone
}

// Partitions is how many partitions all topics have together.
func (m *Image) Partitions() int { return m.partitions }

// BrokerOverrides are the configs altered for a broker, or with the empty
// name for all brokers. The map is shared.
func (m *Image) BrokerOverrides(name string) map[string]string { return m.brokers[name] }

// CheckNewTopic says why no topic of this name can be made: its form, a topic
// of the name, or one whose name differs only in '.' and '_', which would meet
// in metric names (InvalidTopic, TopicAlreadyExists).
func (m *Image) CheckNewTopic(name string) error {
	if err := kafka.CheckTopicName(name); err != nil {
		return err
	}
	if strings.HasPrefix(name, kafka.OwnPrefix) {
		return kafka.Errorf(kafka.InvalidTopic, "topic name %q is kept for the broker itself", name)
	}
	if _, ok := m.Topic(name); ok {
		return kafka.Errorf(kafka.TopicAlreadyExists, "topic %q exists already", name)
	}
	if other, ok := m.byFolded.get(folded(name)); ok {
		return kafka.Errorf(kafka.InvalidTopic, "topic name %q differs from the existing topic %q only in '.' and '_'", name, other.Name)
	}
	return nil
}

func folded(name string) string { return strings.ReplaceAll(name, ".", "_") }
