package handlers

import (
	"math"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

// The timestamps of ListOffsets that are questions, and the version since
// which each may be asked (KIP-734, KIP-405, KIP-1005, KIP-1023).
const (
	askLatest          = -1
	askEarliest        = -2
	askMaxTimestamp    = -3
	askEarliestLocal   = -4
	askLatestTiered    = -5
	askEarliestPending = -6
)

var askedSince = map[int64]int16{
	askLatest: 1, askEarliest: 1, askMaxTimestamp: 7, askEarliestLocal: 8, askLatestTiered: 9, askEarliestPending: 11,
}

// nothing is what is found where there is nothing.
var nothing = storage.TimeOffset{Offset: -1, Timestamp: -1, Epoch: -1}

// ListOffsets (key 2, KIP-79, KIP-98, KIP-320, KIP-734): v1-11, flexible from
// v6. There is no tiered storage: the earliest local offset is the earliest,
// and of what is tiered there is nothing.
//
// Differs from Kafka: a replica id is ignored.
func (h *Handlers) listOffsets(c *call, req *message.ListOffsetsRequest) (*message.ListOffsetsResponse, error) {
	twice := repeatedPartitions(req)
	topics, err := listedTopics.distinct(req.Topics)
	if err != nil {
		return nil, err
	}
	resp := &message.ListOffsetsResponse{Topics: make([]message.ListOffsetsResponseTopic, len(topics))}
	for i := range topics {
		asked, out := &topics[i], &resp.Topics[i]
		out.Name = asked.Name
		out.Partitions = make([]message.ListOffsetsResponsePartition, len(asked.Partitions))
		for j := range asked.Partitions {
			p := &asked.Partitions[j]
			var found storage.TimeOffset
			var err error
			if twice[kafka.TopicPartition{Topic: asked.Name, Partition: p.PartitionIndex}] {
				found, err = nothing, kafka.Errorf(kafka.InvalidRequest, "partition %d of topic %q is named twice", p.PartitionIndex, asked.Name)
			} else {
				found, err = h.offsetOf(c, asked.Name, p, req.IsolationLevel == 1)
			}
			out.Partitions[j] = message.ListOffsetsResponsePartition{
				PartitionIndex: p.PartitionIndex, ErrorCode: c.code(err),
				Timestamp: found.Timestamp, Offset: found.Offset, LeaderEpoch: found.Epoch,
			}
		}
	}
	return resp, nil
}

// listedTopics is how partitions with offsets are asked for.
var listedTopics = topicsOf[message.ListOffsetsTopic, message.ListOffsetsPartition, string]{
	name:       func(t *message.ListOffsetsTopic) string { return t.Name },
	partitions: func(t *message.ListOffsetsTopic) *[]message.ListOffsetsPartition { return &t.Partitions },
	number:     func(p message.ListOffsetsPartition) int32 { return p.PartitionIndex },
}

// repeatedPartitions are the partitions that a request names more than once.
func repeatedPartitions(req *message.ListOffsetsRequest) map[kafka.TopicPartition]bool {
	seen := map[kafka.TopicPartition]bool{}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			tp := kafka.TopicPartition{Topic: req.Topics[i].Name, Partition: req.Topics[i].Partitions[j].PartitionIndex}
			_, again := seen[tp]
			seen[tp] = again
		}
	}
	return seen
}

func (h *Handlers) offsetOf(c *call, topic string, p *message.ListOffsetsPartition, committed bool) (storage.TimeOffset, error) {
	t, err := c.topic(topic, kafka.TopicID{}, false, kafka.OpDescribe)
	if err != nil {
		return nothing, err
	}
	if since, known := askedSince[p.Timestamp]; p.Timestamp < 0 && (!known || c.header.Version < since) {
		return nothing, kafka.Errorf(kafka.UnsupportedVersion, "timestamp %d is no question that ListOffsets v%d knows", p.Timestamp, c.header.Version)
	}
	log, err := h.logs.find(t, p.PartitionIndex)
	if err != nil {
		return nothing, err
	}
	o := log.Offsets()
	if err := checkEpoch(p.CurrentLeaderEpoch, o.Epoch); err != nil {
		return nothing, err
	}
	end := o.HighWatermark
	if committed {
		end = o.LastStable
	}
	return lookup(log, p.Timestamp, o, end)
}

// lookup answers one question about a log whose visible records end at end.
func lookup(log storage.Log, ts int64, o storage.Offsets, end int64) (storage.TimeOffset, error) {
	switch ts {
	case askLatest:
		return storage.TimeOffset{Offset: end, Timestamp: -1, Epoch: o.Epoch}, nil
	case askEarliest, askEarliestLocal:
		return storage.TimeOffset{Offset: o.Start, Timestamp: -1, Epoch: epochAt(log, o)}, nil
	case askLatestTiered, askEarliestPending:
		return nothing, nil
	case askMaxTimestamp:
		return visible(end)(log.MaxTimestamp())
	}
	return visible(end)(log.OffsetFor(ts))
}

// visible hides what was found at or behind end.
func visible(end int64) func(storage.TimeOffset, error) (storage.TimeOffset, error) {
	return func(found storage.TimeOffset, err error) (storage.TimeOffset, error) {
		if err != nil || found.Offset < 0 || found.Offset >= end {
			return nothing, err
		}
		return found, nil
	}
}

// epochAt is the leader epoch of the first record, where there is one.
func epochAt(log storage.Log, o storage.Offsets) int32 {
	if o.Start == o.End {
		return o.Epoch
	}
	first, err := log.OffsetFor(math.MinInt64)
	if err != nil || first.Offset < 0 {
		return -1
	}
	return first.Epoch
}
