package handlers

import (
	"iter"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// CreateTopics (key 19, KIP-4, KIP-464, KIP-525): v2-7, flexible from v5.
//
// There is one broker, so that a replication factor above 1 is refused as Kafka
// does with one broker; -1 is the broker's default.
//
// controller_mutation_rate (KIP-599) is charged the partitions of each topic, after
// its other checks: from v6 on a topic that finds the client in debt is 89 and
// the others go on; below all are made and the client waits.
//
// Differs from Kafka: validate_only is not charged.
func (h *Handlers) createTopics(c *call, req *message.CreateTopicsRequest) (*message.CreateTopicsResponse, error) {
	if err := tooMany(len(req.Topics)); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(req.Topics))
	for _, t := range req.Topics {
		names = append(names, t.Name)
	}
	twice := repeated(names)
	resp := &message.CreateTopicsResponse{Topics: []message.CreateTopicsResponseTopic{}}
	made := c.createAll(req, twice)
	for i := range firsts(names) {
		resp.Topics = append(resp.Topics, c.createdTopic(names[i], made[i]))
	}
	return resp, nil
}

// created is what became of one topic that was asked for.
type created struct {
	topic *metadata.Topic
	err   error
}

// createAll makes every topic that can be made, in one commit. Who may not make
// any waits for no other commit, nor does another for the refusals.
func (c *call) createAll(req *message.CreateTopicsRequest, twice map[string]bool) []created {
	made, may := make([]created, len(req.Topics)), false
	for i, asked := range req.Topics {
		made[i].err = c.mayCreateOnce(asked.Name, twice)
		may = may || made[i].err == nil
	}
	plan := func(d *metadata.Draft) error {
		for i, asked := range req.Topics {
			if made[i].err == nil {
				made[i].topic, made[i].err = c.createOne(d, asked, req.ValidateOnly)
			}
		}
		return nil
	}
	switch {
	case !may:
		return made
	case req.ValidateOnly:
		_ = c.h.Metadata.Try(plan)
		return made
	}
	if _, err := c.update(plan); err != nil {
		return notMade(made, err)
	}
	for _, m := range made {
		if m.err == nil {
			c.logTopic("topic created", m.topic)
		}
	}
	return made
}

// notMade gives those who were to be made the error of the commit.
func notMade(made []created, err error) []created {
	for i := range made {
		if made[i].err == nil {
			made[i] = created{err: err}
		}
	}
	return made
}

// mayCreateOnce is mayCreate for a name that a request may hold once.
func (c *call) mayCreateOnce(name string, twice map[string]bool) error {
	if twice[name] {
		return errTwice(name)
	}
	return c.mayCreate(name)
}

func errTwice(topic string) error {
	return kafka.Errorf(kafka.InvalidRequest, "topic %q is named more than once", topic)
}

func (c *call) createOne(d *metadata.Draft, asked message.CreateTopicsTopic, validateOnly bool) (*metadata.Topic, error) {
	if err := d.CheckNewTopic(asked.Name); err != nil {
		return nil, err
	}
	partitions, err := c.h.partitionsOf(d, asked)
	if err != nil {
		return nil, err
	}
	if err := checkRoom(d, asked.Name, partitions); err != nil {
		return nil, err
	}
	configs, err := topicConfigs(asked.Configs)
	if err != nil {
		return nil, err
	}
	if !validateOnly {
		if err := c.mutate(partitions); err != nil {
			return nil, err
		}
	}
	if err := d.Add(metadata.TopicCreated{Name: asked.Name, ID: newTopicID(), Partitions: partitions, Configs: configs}); err != nil {
		return nil, err
	}
	t, _ := d.Topic(asked.Name)
	return t, nil
}

// maxPartitions is the most partitions all topics may have together, so that
// neither a mistyped count nor a client's zeal can use up the machine: each
// costs memory, and a place in every answer that lists them.
const maxPartitions = 100_000

// checkRoom says whether a topic may have that many partitions more.
func checkRoom(d *metadata.Draft, topic string, more int32) error {
	if int64(d.Partitions())+int64(more) > maxPartitions {
		return kafka.Errorf(kafka.InvalidPartitions, "topic %q cannot have %d partitions more: this broker has %d, and %d is the most",
			topic, more, d.Partitions(), maxPartitions)
	}
	return nil
}

// partitionsOf is how many partitions a topic is to have.
func (h *Handlers) partitionsOf(d *metadata.Draft, asked message.CreateTopicsTopic) (int32, error) {
	if len(asked.Assignments) > 0 {
		return h.assigned(asked)
	}
	count, factor := asked.NumPartitions, asked.ReplicationFactor
	if count == -1 {
		count = d.Broker.NumPartitions
	}
	if factor == -1 {
		factor = d.Broker.ReplicationFactor
	}
	switch {
	case count < 1:
		return 0, kafka.Errorf(kafka.InvalidPartitions, "topic %q cannot have %d partitions: 1 or more, or -1 for the broker's default", asked.Name, count)
	case factor < 1:
		return 0, kafka.Errorf(kafka.InvalidReplicationFactor, "topic %q cannot have replication factor %d: 1, or -1 for the broker's default", asked.Name, factor)
	case factor > 1:
		return 0, kafka.Errorf(kafka.InvalidReplicationFactor, "topic %q cannot have replication factor %d: there is 1 broker", asked.Name, factor)
	}
	return count, nil
}

// assigned counts the partitions of a manual assignment: from 0 on without a
// gap, each on this broker.
func (h *Handlers) assigned(asked message.CreateTopicsTopic) (int32, error) {
	if asked.NumPartitions != -1 || asked.ReplicationFactor != -1 {
		return 0, kafka.Errorf(kafka.InvalidRequest, "topic %q has replicas assigned: partition count and replication factor must then be -1", asked.Name)
	}
	seen := map[int32]bool{}
	for _, a := range asked.Assignments {
		if seen[a.PartitionIndex] {
			return 0, kafka.Errorf(kafka.InvalidReplicaAssignment, "partition %d of topic %q is assigned twice", a.PartitionIndex, asked.Name)
		}
		seen[a.PartitionIndex] = true
		if err := h.checkReplicas(a.BrokerIDs); err != nil {
			return 0, err
		}
	}
	for i := range int32(len(seen)) {
		if !seen[i] {
			return 0, kafka.Errorf(kafka.InvalidReplicaAssignment, "partition %d of topic %q is not assigned: partitions count from 0 on without a gap", i, asked.Name)
		}
	}
	return int32(len(seen)), nil
}

// checkReplicas judges the replicas of one partition: they can only be this
// broker.
func (h *Handlers) checkReplicas(brokers []int32) error {
	if len(brokers) != 1 || brokers[0] != int32(h.NodeID) {
		return kafka.Errorf(kafka.InvalidReplicaAssignment, "replicas %v cannot be: the only broker is %d", brokers, h.NodeID)
	}
	return nil
}

// topicConfigs checks the configs of a new topic. Of a config named twice the
// last value counts.
func topicConfigs(asked []message.CreateTopicsConfig) (map[string]string, error) {
	configs := make(map[string]string, len(asked))
	for _, config := range asked {
		if config.Value == nil {
			return nil, kafka.Errorf(kafka.InvalidConfig, "topic config %q has no value", config.Name)
		}
		value, err := metadata.ParseTopicConfig(config.Name, *config.Value)
		if err != nil {
			return nil, err
		}
		configs[config.Name] = value
	}
	return configs, nil
}

// createdTopic is one topic of the answer. Counts and configs are shown to who
// may see them (KIP-525).
func (c *call) createdTopic(name string, made created) message.CreateTopicsResponseTopic {
	t := message.CreateTopicsResponseTopic{
		Name: name, ErrorCode: c.code(made.err), ErrorMessage: text(made.err), NumPartitions: -1, ReplicationFactor: -1, Configs: []message.CreateTopicsResponseConfig{},
	}
	if made.err != nil {
		return t
	}
	t.TopicID = made.topic.ID
	if err := c.allow(kafka.OpDescribeConfigs, kafka.TopicResource(name)); err != nil {
		t.TopicConfigErrorCode = kafka.CodeOf(err)
		return t
	}
	t.NumPartitions, t.ReplicationFactor = made.topic.Partitions, 1
	t.Configs = []message.CreateTopicsResponseConfig{}
	for _, e := range c.image.TopicConfigs(made.topic) {
		t.Configs = append(t.Configs, message.CreateTopicsResponseConfig{
			Name: e.Value.Name, Value: &e.Value.Text, ConfigSource: int8(e.Source),
		})
	}
	return t
}

// firsts are the places where a name occurs that did not occur before.
func firsts(names []string) iter.Seq[int] {
	return func(yield func(int) bool) {
		seen := make(map[string]bool, len(names))
		for i, name := range names {
			if !seen[name] && !yield(i) {
				return
			}
			seen[name] = true
		}
	}
}

// repeated are the names that occur more than once.
func repeated(names []string) map[string]bool {
	seen, twice := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		if seen[name] {
			twice[name] = true
		}
		seen[name] = true
	}
	return twice
}
