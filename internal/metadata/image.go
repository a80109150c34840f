package metadata

import (
	"maps"
	"slices"
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

	env        *Options
	plain      TopicSettings // of a topic without overrides
	topics     []*Topic      // by name
	partitions int
	byName     shards[string]
	byID       shards[kafka.TopicID]
	byFolded   shards[string]               // '.' and '_' made equal
	brokers    map[string]map[string]string // overrides by broker; "" is for all brokers
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
	m := &Image{env: env, byName: newShards(hashName), byID: newShards(hashID), byFolded: newShards(hashName)}
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
	if name == LogPartition.Topic {
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

// draft is an image in the making. It starts as a copy that shares everything
// with the one it was made from, and copies what it is about to write to.
type draft struct {
	Image
	ownTopics bool // the list of topics is this draft's own
}

func (m *Image) edit() *draft {
	d := &draft{Image: *m}
	d.byName, d.byID, d.byFolded = m.byName.edit(), m.byID.edit(), m.byFolded.edit()
	return d
}

// done makes the image that the draft has become.
func (d *draft) done() *Image {
	m := d.Image
	return &m
}

// place finds where a topic is, or belongs, in the list, which may then be
// written to.
func (d *draft) place(name string) (int, bool) {
	if !d.ownTopics {
		d.topics, d.ownTopics = slices.Clone(d.topics), true
	}
	return slices.BinarySearchFunc(d.topics, name, func(t *Topic, name string) int { return strings.Compare(t.Name, name) })
}

func (d *draft) put(t *Topic) {
	t.Settings = d.plain
	if len(t.Configs) > 0 {
		t.Settings = d.topicSettings(t.Configs)
	}
	if i, ok := d.place(t.Name); ok {
		d.partitions -= int(d.topics[i].Partitions)
		d.topics[i] = t
	} else {
		d.topics = slices.Insert(d.topics, i, t)
	}
	d.partitions += int(t.Partitions)
	d.byName.put(t.Name, t)
	d.byID.put(t.ID, t)
	d.byFolded.put(folded(t.Name), t)
}

func (d *draft) remove(t *Topic) {
	if i, ok := d.place(t.Name); ok {
		d.topics = slices.Delete(d.topics, i, i+1)
	}
	d.partitions -= int(t.Partitions)
	d.byName.remove(t.Name)
	d.byID.remove(t.ID)
	d.byFolded.remove(folded(t.Name))
}

// setBroker replaces the overrides of a broker, or of all, and resolves anew
// what depends on them.
func (d *draft) setBroker(name string, configs map[string]string) {
	brokers := maps.Clone(d.brokers)
	if brokers == nil {
		brokers = map[string]map[string]string{}
	}
	brokers[name] = configs
	d.brokers = brokers
	d.resolve()
	for _, t := range slices.Clone(d.topics) {
		fresh := *t
		d.put(&fresh)
	}
}
