package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// ElectLeaders (key 43, KIP-183, KIP-460): v0-2, flexible from v2. Every
// partition has the only leader it can have, so that no election is needed.
func (h *Handlers) electLeaders(c *call, req *message.ElectLeadersRequest) (*message.ElectLeadersResponse, error) {
	topics, err := electedTopics.distinct(req.TopicPartitions)
	if err != nil {
		return nil, err
	}
	resp := &message.ElectLeadersResponse{ReplicaElectionResults: []message.ElectLeadersResponseTopic{}}
	refusal := c.mayElect(req)
	resp.ErrorCode = c.code(refusal)
	if req.TopicPartitions == nil && refusal == nil { // all topics, and nothing to elect in any
		for _, t := range c.image.Topics() {
			resp.ReplicaElectionResults = append(resp.ReplicaElectionResults,
				message.ElectLeadersResponseTopic{Topic: t.Name, PartitionResult: []message.ElectLeadersResponsePartition{}})
		}
	}
	for _, asked := range topics {
		out := message.ElectLeadersResponseTopic{Topic: asked.Topic, PartitionResult: []message.ElectLeadersResponsePartition{}}
		for _, number := range asked.Partitions {
			err := refusal
			if err == nil {
				err = c.elect(asked.Topic, number)
			}
			out.PartitionResult = append(out.PartitionResult, message.ElectLeadersResponsePartition{PartitionID: number, ErrorCode: c.code(err), ErrorMessage: text(err)})
		}
		resp.ReplicaElectionResults = append(resp.ReplicaElectionResults, out)
	}
	return resp, nil
}

// electedTopics is how partitions to elect are asked for.
var electedTopics = topicsOf[message.ElectLeadersTopic, int32, string]{
	name:       func(t *message.ElectLeadersTopic) string { return t.Topic },
	partitions: func(t *message.ElectLeadersTopic) *[]int32 { return &t.Partitions },
	number:     itself,
}

func (c *call) mayElect(req *message.ElectLeadersRequest) error {
	if err := c.allow(kafka.OpAlter, kafka.Cluster); err != nil {
		return err
	}
	if req.ElectionType != 0 && req.ElectionType != 1 {
		return kafka.Errorf(kafka.InvalidRequest, "election type %d is not known: 0 (preferred) and 1 (unclean) are", req.ElectionType)
	}
	return nil
}

// elect says why there is no election.
func (c *call) elect(topic string, number int32) error {
	t, ok := c.image.Topic(topic)
	if !ok {
		return errUnknownTopic
	}
	if err := hasPartition(t, number); err != nil {
		return err
	}
	return kafka.Errorf(kafka.ElectionNotNeeded, "broker %d is the only one, and leads the partition", c.h.NodeID)
}
