package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// quorumTopic is what clients call the log of the metadata.
const quorumTopic = "__cluster_metadata"

// DescribeQuorum (key 55, KIP-595, KIP-836, KIP-853): v0-2, always flexible. The
// metadata has one keeper, this broker: the only voter, always caught up, and
// reached where it was asked.
func (h *Handlers) describeQuorum(c *call, req *message.DescribeQuorumRequest) (*message.DescribeQuorumResponse, error) {
	resp := &message.DescribeQuorumResponse{ErrorMessage: new(string), Topics: []message.DescribeQuorumResponseTopic{}, Nodes: []message.DescribeQuorumResponseNode{}}
	if err := c.allow(kafka.OpDescribe, kafka.Cluster); err != nil {
		resp.ErrorCode, resp.ErrorMessage = c.code(err), text(err)
		return resp, nil
	}
	for _, asked := range req.Topics {
		out := message.DescribeQuorumResponseTopic{TopicName: asked.TopicName, Partitions: []message.DescribeQuorumResponsePartition{}}
		for _, p := range asked.Partitions {
			out.Partitions = append(out.Partitions, c.quorum(asked.TopicName, p.PartitionIndex))
		}
		resp.Topics = append(resp.Topics, out)
	}
	host, port := c.address()
	resp.Nodes = append(resp.Nodes, message.DescribeQuorumResponseNode{NodeID: int32(h.NodeID),
		Listeners: []message.DescribeQuorumResponseListener{{Name: c.conn.Listener.Name, Host: host, Port: uint16(port)}}})
	return resp, nil
}

// quorum describes one partition; only that of the metadata has a quorum.
func (c *call) quorum(topic string, number int32) message.DescribeQuorumResponsePartition {
	if topic != quorumTopic || number != 0 {
		err := kafka.Errorf(kafka.UnknownTopicOrPartition, "only partition 0 of %s has a quorum", quorumTopic)
		return message.DescribeQuorumResponsePartition{PartitionIndex: number, ErrorCode: c.code(err), ErrorMessage: text(err)}
	}
	now, end := c.now.UnixMilli(), c.h.Metadata.End()
	voter := message.DescribeQuorumResponseReplica{ReplicaID: int32(c.h.NodeID), LogEndOffset: end, LastFetchTimestamp: now, LastCaughtUpTimestamp: now}
	return message.DescribeQuorumResponsePartition{
		PartitionIndex: number, ErrorMessage: new(string), LeaderID: voter.ReplicaID, LeaderEpoch: c.h.Store.Epoch(), HighWatermark: end,
		CurrentVoters: []message.DescribeQuorumResponseReplica{voter}, Observers: []message.DescribeQuorumResponseReplica{},
	}
}
