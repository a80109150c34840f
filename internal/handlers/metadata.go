package handlers

import (
	"crypto/rand"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// Metadata (key 3): v0-13, flexible from v9. This broker is the only one and
// its own controller, under the address of the listener that was asked.
//
// Differs from Kafka: a topic that is made because it was asked for is there in
// the same answer, not in the next.
func (h *Handlers) metadata(c *call, req *message.MetadataRequest) (*message.MetadataResponse, error) {
	if refused := c.refuseIDs(req); refused != nil {
		return refused, nil
	}
	host, port := c.address()
	resp := &message.MetadataResponse{
		Brokers:                     []message.MetadataResponseBroker{{NodeID: int32(h.NodeID), Host: host, Port: port}},
		ClusterID:                   &h.ClusterID,
		ControllerID:                int32(h.NodeID),
		ClusterAuthorizedOperations: message.NoOperations,
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = c.clusterOperations()
	}
	if req.Topics == nil || c.header.Version == 0 && len(req.Topics) == 0 {
		if err := c.tellMuch((len(c.image.Topics()) + c.image.Partitions()) * shownBytes); err != nil {
			return nil, err
		}
		resp.Topics = c.allTopics(req)
		return resp, nil
	}
	topics, err := distinct(req.Topics, wordsOf)
	if err != nil {
		return nil, err
	}
	if err := c.reserve(c.shownTopics(topics)*shownBytes, littleAnswer); err != nil {
		return nil, err
	}
	resp.Topics = c.askedTopics(topics, req)
	return resp, nil
}

// refuseIDs is the answer to a request of version 10 or 11 that names topics by
// id: the versions have the field, but it is not to be used.
func (c *call) refuseIDs(req *message.MetadataRequest) *message.MetadataResponse {
	if v := c.header.Version; v != 10 && v != 11 {
		return nil
	}
	wrong := false
	for _, t := range req.Topics {
		wrong = wrong || t.Name == nil || !t.TopicID.IsZero()
	}
	if !wrong {
		return nil
	}
	resp := &message.MetadataResponse{ControllerID: -1, ClusterAuthorizedOperations: message.NoOperations}
	err := kafka.Errorf(kafka.InvalidRequest, "topics cannot be asked for by id before version 12")
	for _, t := range req.Topics {
		topic := unknownTopic(t.Name, t.TopicID, c.code(err))
		if t.Name == nil {
			topic.Name = new(string) // not nullable yet
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// shownBytes is the memory that a topic or a partition takes in the answer.
const shownBytes = 128

// shownTopics is how many topics and partitions the answer has.
func (c *call) shownTopics(asked []message.MetadataRequestTopic) int {
	n := len(asked)
	for i := range asked {
		words := wordsOf(&asked[i])
		t, ok := c.image.TopicByID(words.id)
		if words.named {
			t, ok = c.image.Topic(words.name)
		}
		if ok {
			n += int(t.Partitions)
		}
	}
	return n
}

// allTopics leaves out what the principal may not see.
func (c *call) allTopics(req *message.MetadataRequest) []message.MetadataResponseTopic {
	topics := make([]message.MetadataResponseTopic, 0, len(c.image.Topics()))
	for _, t := range c.image.Topics() {
		if c.may(kafka.OpDescribe, kafka.TopicResource(t.Name)) {
			topics = append(topics, c.describeTopic(t, req))
		}
	}
	return topics
}

// wordsOf is what counts of how a topic is named: its id, or else its name.
func wordsOf(asked *message.MetadataRequestTopic) topicWords {
	if asked.Name == nil || !asked.TopicID.IsZero() {
		return topicWords{id: asked.TopicID}
	}
	return topicWords{name: *asked.Name, named: true}
}

// askedTopics answers in the order asked.
func (c *call) askedTopics(asked []message.MetadataRequestTopic, req *message.MetadataRequest) []message.MetadataResponseTopic {
	if req.AllowAutoTopicCreation && c.image.Broker.AutoCreateTopics {
		c.createMissing(asked)
	}
	topics := make([]message.MetadataResponseTopic, 0, len(asked))
	for i := range asked {
		if words := wordsOf(&asked[i]); words.named {
			topics = append(topics, c.topicByName(words.name, req))
		} else {
			topics = append(topics, c.topicByID(words.id, req))
		}
	}
	return topics
}

func (c *call) topicByID(id kafka.TopicID, req *message.MetadataRequest) message.MetadataResponseTopic {
	t, ok := c.image.TopicByID(id)
	if !ok {
		return unknownTopic(nil, id, c.code(errUnknownTopicID))
	}
	if err := c.allow(kafka.OpDescribe, kafka.TopicResource(t.Name)); err != nil {
		return unknownTopic(nil, id, c.code(err))
	}
	return c.describeTopic(t, req)
}

func (c *call) topicByName(name string, req *message.MetadataRequest) message.MetadataResponseTopic {
	err := c.allow(kafka.OpDescribe, kafka.TopicResource(name))
	if err == nil {
		if t, ok := c.image.Topic(name); ok {
			return c.describeTopic(t, req)
		}
		return c.missingTopic(name, req)
	}
	return unknownTopic(&name, kafka.TopicID{}, c.code(err))
}

// missingTopic is the answer for a topic that is not there, with what the
// caller might do to one of that name.
func (c *call) missingTopic(name string, req *message.MetadataRequest) message.MetadataResponseTopic {
	topic := unknownTopic(&name, kafka.TopicID{}, c.code(c.whyMissing(name, req)))
	if req.IncludeTopicAuthorizedOperations {
		topic.TopicAuthorizedOperations = c.operations(kafka.TopicResource(name))
	}
	return topic
}

// whyMissing says why a topic is not there, after it was made where it could
// be.
func (c *call) whyMissing(name string, req *message.MetadataRequest) error {
	if err := kafka.CheckTopicName(name); err != nil {
		return err
	}
	if req.AllowAutoTopicCreation && c.image.Broker.AutoCreateTopics {
		if err := c.mayCreate(name); err != nil {
			return err
		}
		if err := c.image.CheckNewTopic(name); err != nil {
			return err
		}
	}
	return errUnknownTopic
}

// createMissing makes the topics that are asked for and may be made. One that
// cannot be made does not keep the others from it.
func (c *call) createMissing(asked []message.MetadataRequestTopic) {
	missing := c.missing(asked)
	if len(missing) == 0 {
		return
	}
	image, err := c.update(func(d *metadata.Draft) error {
		for _, name := range missing {
			c.createOnDemand(d, name)
		}
		return nil
	})
	if err != nil {
		c.h.log.Warn("topics could not be created on demand", append(c.who(), zap.Strings("topic", missing), zap.Error(err))...)
		return
	}
	for _, name := range missing {
		if t, ok := image.Topic(name); ok {
			c.logTopic("topic created", t, zap.String("why", "asked for"))
		}
	}
	c.image = image
}

// createOnDemand makes one topic, if it fits. If it does not, the client is told
// where the topic is not found. controller_mutation_rate (KIP-599) is charged as by
// the strict versions of CreateTopics, but a refusal announces no throttle: the
// connection is one that others' records go over, and a client that does not
// find its topic asks again anyway.
func (c *call) createOnDemand(d *metadata.Draft, name string) {
	n := d.Broker.NumPartitions
	if d.CheckNewTopic(name) != nil || checkRoom(d, name, n) != nil {
		return
	}
	if _, ok := c.payer().Mutate(int(n), true, time.Now()); ok {
		_ = d.Add(metadata.TopicCreated{Name: name, ID: newTopicID(), Partitions: n}) // fits
	}
}

func (c *call) missing(asked []message.MetadataRequestTopic) []string {
	var names []string
	for _, t := range asked {
		if t.Name == nil || !t.TopicID.IsZero() || c.image.CheckNewTopic(*t.Name) != nil {
			continue
		}
		if c.may(kafka.OpDescribe, kafka.TopicResource(*t.Name)) && c.mayCreate(*t.Name) == nil {
			names = append(names, *t.Name)
		}
	}
	return names
}

// mayCreate asks for the right to make one topic, or any.
func (c *call) mayCreate(name string) error {
	if c.may(kafka.OpCreate, kafka.Cluster) {
		return nil
	}
	return c.allow(kafka.OpCreate, kafka.TopicResource(name))
}

var (
	errUnknownTopic   = kafka.Errorf(kafka.UnknownTopicOrPartition, "%s", kafka.UnknownTopicOrPartition.Text())
	errUnknownTopicID = kafka.Errorf(kafka.UnknownTopicID, "%s", kafka.UnknownTopicID.Text())
)

// newTopicID is a random UUID (RFC 9562, version 4).
func newTopicID() kafka.TopicID {
	var id kafka.TopicID
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// unknownTopic is the answer for a topic that cannot be described.
func unknownTopic(name *string, id kafka.TopicID, code kafka.Code) message.MetadataResponseTopic {
	return message.MetadataResponseTopic{ErrorCode: code, Name: name, TopicID: id, TopicAuthorizedOperations: message.NoOperations}
}

func (c *call) describeTopic(t *metadata.Topic, req *message.MetadataRequest) message.MetadataResponseTopic {
	topic := message.MetadataResponseTopic{Name: &t.Name, TopicID: t.ID, TopicAuthorizedOperations: message.NoOperations}
	if req.IncludeTopicAuthorizedOperations {
		topic.TopicAuthorizedOperations = c.operations(kafka.TopicResource(t.Name))
	}
	self, epoch := []int32{int32(c.h.NodeID)}, c.h.Store.Epoch()
	topic.Partitions = make([]message.MetadataResponsePartition, t.Partitions)
	for i := range topic.Partitions {
		topic.Partitions[i] = message.MetadataResponsePartition{
			PartitionIndex: int32(i), LeaderID: self[0], LeaderEpoch: epoch, ReplicaNodes: self, IsrNodes: self,
		}
	}
	return topic
}

// address is what clients of the session's listener are told to connect to.
func (c *call) address() (host string, port int32) {
	return c.conn.Listener.Host, int32(c.conn.Listener.Port)
}

// logTopic writes the one line that tells of a topic's beginning or end.
func (c *call) logTopic(event string, t *metadata.Topic, more ...zap.Field) {
	c.h.log.Info(event, append(append(c.who(), zap.String("topic", t.Name), zap.Int32("partitions", t.Partitions)), more...)...)
}
