package handlers

import (
	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// CreatePartitions (key 37, KIP-195): v0-3, flexible from v2. Partitions are
// only ever added. controller_mutation_rate (KIP-599) is charged for those that
// are; from v3 on a topic that finds the client in debt is 89.
//
// Differs from Kafka: validate_only is not charged.
func (h *Handlers) createPartitions(c *call, req *message.CreatePartitionsRequest) (*message.CreatePartitionsResponse, error) {
	if err := tooMany(len(req.Topics)); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(req.Topics))
	for _, t := range req.Topics {
		names = append(names, t.Name)
	}
	faults := c.growAll(req, repeated(names))
	resp := &message.CreatePartitionsResponse{Results: []message.CreatePartitionsResponseResult{}}
	for i := range firsts(names) {
		resp.Results = append(resp.Results, message.CreatePartitionsResponseResult{
			Name: names[i], ErrorCode: c.code(faults[i]), ErrorMessage: text(faults[i]),
		})
	}
	return resp, nil
}

// growAll adds the partitions of every topic that can have them, in one
// commit, into which those come that the caller may alter.
func (c *call) growAll(req *message.CreatePartitionsRequest, twice map[string]bool) []error {
	faults, may := make([]error, len(req.Topics)), false
	for i, asked := range req.Topics {
		faults[i] = c.mayGrow(asked.Name, twice)
		may = may || faults[i] == nil
	}
	plan := func(d *metadata.Draft) error {
		for i, asked := range req.Topics {
			if faults[i] == nil {
				faults[i] = c.growOne(d, asked, req.ValidateOnly)
			}
		}
		return nil
	}
	switch {
	case !may:
		return faults
	case req.ValidateOnly:
		_ = c.h.Metadata.Try(plan)
		return faults
	}
	image, err := c.update(plan)
	if err != nil {
		return failed(faults, err) // the image may be none
	}
	for i := range faults {
		if faults[i] != nil {
			continue
		}
		if t, ok := image.Topic(req.Topics[i].Name); ok {
			c.logTopic("partitions added", t, zap.Int32("before", c.before(t)))
		}
	}
	return faults
}

// before is how many partitions a topic had when the request came.
func (c *call) before(t *metadata.Topic) int32 {
	if was, ok := c.image.TopicByID(t.ID); ok {
		return was.Partitions
	}
	return 0
}

func (c *call) mayGrow(name string, twice map[string]bool) error {
	if twice[name] {
		return errTwice(name)
	}
	return c.allow(kafka.OpAlter, kafka.TopicResource(name))
}

func (c *call) growOne(d *metadata.Draft, asked message.CreatePartitionsTopic, validateOnly bool) error {
	t, ok := d.Topic(asked.Name)
	if !ok {
		return errUnknownTopic
	}
	if asked.Count > t.Partitions {
		if err := checkRoom(d, asked.Name, asked.Count-t.Partitions); err != nil {
			return err
		}
	}
	if asked.Count > t.Partitions && asked.Assignments != nil {
		if added := asked.Count - t.Partitions; len(asked.Assignments) != int(added) {
			return kafka.Errorf(kafka.InvalidReplicaAssignment, "%d partitions are added and %d assigned", added, len(asked.Assignments))
		}
		for _, a := range asked.Assignments {
			if err := c.h.checkReplicas(a.BrokerIDs); err != nil {
				return err
			}
		}
	}
	if more := asked.Count - t.Partitions; more > 0 && !validateOnly {
		if err := c.mutate(more); err != nil {
			return err
		}
	}
	return d.Add(metadata.PartitionsAdded{ID: t.ID, Partitions: asked.Count})
}
