package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// DeleteTopics (key 20, KIP-4, KIP-516): v1-6, flexible from v4, by id from v6.
// A topic is gone, and its waiting fetches are answered, before the answer.
// controller_mutation_rate (KIP-599) is charged its partitions; from v5 on a topic
// that finds the client in debt is 89.
func (h *Handlers) deleteTopics(c *call, req *message.DeleteTopicsRequest) (*message.DeleteTopicsResponse, error) {
	asked := namedOrID(req)
	if err := tooMany(len(asked)); err != nil {
		return nil, err
	}
	gone := refuseRepeated(asked)
	err := c.deleteAll(asked, gone)
	resp := &message.DeleteTopicsResponse{Responses: []message.DeleteTopicsResponseTopic{}}
	for i, a := range asked {
		if gone[i].again {
			continue
		}
		if gone[i].err == nil {
			gone[i].err = err
		}
		resp.Responses = append(resp.Responses, c.deletedTopic(a, gone[i]))
	}
	return resp, nil
}

// deleteAll deletes every topic that can be, in one commit, into which those come
// that the caller may delete. What became of each is in gone, where the others
// have their error; the error is that of the commit.
func (c *call) deleteAll(asked []message.DeleteTopicsTopic, gone []deletion) error {
	may := false
	for i, a := range asked {
		if gone[i].err == nil {
			gone[i].err = c.mayDelete(a)
		}
		may = may || gone[i].err == nil
	}
	if !may {
		return nil
	}
	_, err := c.update(func(d *metadata.Draft) error {
		for i, a := range asked {
			if gone[i].err == nil {
				gone[i] = c.deleteOne(d, a)
			}
		}
		return nil
	})
	return err
}

// deletion is what became of one topic that was asked to go.
type deletion struct {
	topic *metadata.Topic // the caller may know of it
	again bool            // named before in the request
	err   error
}

// namedOrID brings the two forms of the request together.
func namedOrID(req *message.DeleteTopicsRequest) []message.DeleteTopicsTopic {
	asked := req.Topics
	for i := range req.TopicNames {
		asked = append(asked, message.DeleteTopicsTopic{Name: &req.TopicNames[i]})
	}
	return asked
}

// topicWords is how an entry names a topic.
type topicWords struct {
	name  string
	named bool
	id    kafka.TopicID
}

// refuseRepeated refuses entries that name a topic in the same words as others.
func refuseRepeated(asked []message.DeleteTopicsTopic) []deletion {
	gone := make([]deletion, len(asked))
	first := make(map[topicWords]int, len(asked))
	for i, a := range asked {
		words := topicWords{named: a.Name != nil, id: a.TopicID}
		if words.named {
			words.name = *a.Name
		}
		if words == (topicWords{}) {
			continue // it names none
		}
		if at, again := first[words]; again {
			err := kafka.Errorf(kafka.InvalidRequest, "a topic is named more than once")
			gone[at].err, gone[i] = err, deletion{again: true, err: err}
		} else {
			first[words] = i
		}
	}
	return gone
}

// mayDelete asks for the right to delete what an entry names. An id that was
// not there when the request came names nothing; one that was has its name for
// good.
func (c *call) mayDelete(asked message.DeleteTopicsTopic) error {
	if asked.Name != nil {
		return c.allow(kafka.OpDelete, kafka.TopicResource(*asked.Name))
	}
	t, err := findTopic(c.image, asked)
	if err != nil {
		return err
	}
	return c.allowTopic(kafka.OpDelete, t.Name, asked.TopicID, true)
}

func (c *call) deleteOne(d *metadata.Draft, asked message.DeleteTopicsTopic) deletion {
	t, err := findTopic(&d.Image, asked)
	if err != nil {
		return deletion{err: err}
	}
	if !d.Broker.DeleteTopics {
		return deletion{topic: t, err: c.deletionOff()}
	}
	if err := c.mutate(t.Partitions); err != nil {
		return deletion{topic: t, err: err}
	}
	return deletion{topic: t, err: d.Add(metadata.TopicDeleted{ID: t.ID})}
}

func findTopic(m *metadata.Image, asked message.DeleteTopicsTopic) (*metadata.Topic, error) {
	switch {
	case asked.Name != nil && !asked.TopicID.IsZero():
		return nil, kafka.Errorf(kafka.InvalidRequest, "topic %q is named by its id as well: one of the two is enough", *asked.Name)
	case asked.Name != nil:
		if t, ok := m.Topic(*asked.Name); ok {
			return t, nil
		}
		return nil, errUnknownTopic
	case asked.TopicID.IsZero():
		return nil, kafka.Errorf(kafka.InvalidRequest, "a topic is named neither by name nor by id")
	}
	if t, ok := m.TopicByID(asked.TopicID); ok {
		return t, nil
	}
	return nil, errUnknownTopicID
}

// deletionOff is the refusal of a broker with delete.topic.enable=false, whose
// own code older clients do not know.
func (c *call) deletionOff() error {
	code := kafka.TopicDeletionDisabled
	if c.header.Version < 3 {
		code = kafka.InvalidRequest
	}
	return kafka.Errorf(code, "topics cannot be deleted: delete.topic.enable is false")
}

func (c *call) deletedTopic(asked message.DeleteTopicsTopic, gone deletion) message.DeleteTopicsResponseTopic {
	answer := message.DeleteTopicsResponseTopic{
		Name: asked.Name, TopicID: asked.TopicID, ErrorCode: c.code(gone.err), ErrorMessage: text(gone.err),
	}
	if gone.topic != nil {
		answer.Name, answer.TopicID = &gone.topic.Name, gone.topic.ID
	}
	if gone.err == nil {
		c.logTopic("topic deleted", gone.topic)
	}
	return answer
}
