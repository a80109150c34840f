package main

import (
	"fmt"
	"strings"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// wide is how many partitions a fetch of waiting names: as many as a frame of 4 KiB
// has room for, about.
const wide = 200

func makeWide(t *target) error {
	s, err := t.session()
	if err != nil {
		return err
	}
	defer s.nc.Close()
	return s.newTopic("wide", wide)
}

// waiting has fetches wait for records that never come.
func waiting(c *crew) {
	t := message.FetchTopic{Topic: "wide"}
	for i := range int32(wide) {
		t.Partitions = append(t.Partitions, message.FetchPartition{Partition: i, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1, PartitionMaxBytes: fetched})
	}
	fetch := must(encode(kafka.KeyFetch, 4, &message.FetchRequest{ReplicaID: -1, MaxWaitMs: 60_000, MinBytes: 1, MaxBytes: fetched, Topics: []message.FetchTopic{t}}))
	c.hold(func(int) string { return c.plain }, func(m *mark) {
		for m.say(fetch) {
			if _, more := m.answer(); !more {
				return
			}
			c.rounds.Add(1)
		}
	})
}

// commits keeps offsets, with as much as may be noted of each, in one group after the
// other.
func commits(c *crew) {
	note := strings.Repeat("x", 4096) // offset.metadata.max.bytes
	c.at(64, func(int) {
		m := c.dial(c.plain)
		if m == nil {
			return
		}
		defer m.abandon()
		for more := true; more; _, more = m.answer() {
			req := &message.OffsetCommitRequest{GroupID: fmt.Sprint("group-", c.rounds.Add(1)), GenerationIDOrMemberEpoch: -1, RetentionTimeMs: -1,
				Topics: []message.OffsetCommitTopic{{Name: topic, Partitions: []message.OffsetCommitPartition{{CommittedLeaderEpoch: -1, CommittedMetadata: &note}}}}}
			if !m.say(must(encode(kafka.KeyOffsetCommit, 8, req))) {
				return
			}
		}
	})
}
