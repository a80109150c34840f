package handlers

import (
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// topic finds what a request names, by id or by name, and asks whether the
// caller may do op to it. An unknown id says so before anybody is asked,
// because only a known one has a name to ask for.
func (c *call) topic(name string, id kafka.TopicID, byID bool, op kafka.Operation) (*metadata.Topic, error) {
	t, ok := c.image.TopicByID(id)
	switch {
	case !byID:
		t, ok = c.image.Topic(name)
	case !ok:
		return nil, kafka.Errorf(kafka.UnknownTopicID, "this broker has no topic with the id %s", id)
	default:
		name = t.Name
	}
	if err := c.allowTopic(op, name, id, byID); err != nil {
		return nil, err
	}
	if !ok {
		return nil, kafka.Errorf(kafka.UnknownTopicOrPartition, "this broker has no topic %q", name)
	}
	return t, nil
}

// allowTopic is allow for a topic. Who has named it by its id is not told its
// name in the refusal.
func (c *call) allowTopic(op kafka.Operation, name string, id kafka.TopicID, byID bool) error {
	err := c.allow(op, kafka.TopicResource(name))
	if err != nil && byID {
		return kafka.Errorf(kafka.TopicAuthorizationFailed, "%s has no permission for %s on the topic with the id %s", c.principal(), op, id)
	}
	return err
}

// hasPartition says UnknownTopicOrPartition of a number that a topic does not
// have.
func hasPartition(t *metadata.Topic, number int32) error {
	if number < 0 || number >= t.Partitions {
		return kafka.Errorf(kafka.UnknownTopicOrPartition, "topic %q has no partition %d: it has %d", t.Name, number, t.Partitions)
	}
	return nil
}

// checkEpoch compares the leader epoch that a client knows with that of the
// log; -1 is not compared (KIP-320).
func checkEpoch(known, current int32) error {
	switch {
	case known < 0 || known == current:
		return nil
	case known < current:
		return kafka.Errorf(kafka.FencedLeaderEpoch, "leader epoch %d is over: the current one is %d", known, current)
	}
	return kafka.Errorf(kafka.UnknownLeaderEpoch, "leader epoch %d has not begun: the current one is %d", known, current)
}
