package handlers

import (
	"fmt"
	"testing"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// many is n elements, made of their places.
func many[T any](n int, element func(i int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = element(i)
	}
	return all
}

// The largest requests of clients are within what decoding may take, and far
// from what a request may name: all partitions there can be, ten to a topic, and
// changes of 10,000 names.
func TestLargeRequestsAreDecoded(t *testing.T) {
	const topics, each = maxPartitions / 10, 10
	name := func(i int) string { return fmt.Sprintf("a-topic-with-name-%d", i) }
	numbers := many(each, func(i int) int32 { return int32(i) })
	retention := "retention.ms"
	for _, c := range []struct {
		key     kafka.APIKey
		version int16
		req     codec.Message
	}{
		{kafka.KeyFetch, 17, &message.FetchRequest{Topics: many(topics, func(int) message.FetchTopic {
			return message.FetchTopic{Partitions: many(each, func(int) message.FetchPartition { return message.FetchPartition{} })}
		})}},
		{kafka.KeyListOffsets, 10, &message.ListOffsetsRequest{Topics: many(topics, func(i int) message.ListOffsetsTopic {
			return message.ListOffsetsTopic{Name: name(i), Partitions: make([]message.ListOffsetsPartition, each)}
		})}},
		{kafka.KeyMetadata, 12, &message.MetadataRequest{Topics: many(maxPartitions, func(i int) message.MetadataRequestTopic { return message.MetadataRequestTopic{Name: ptr(name(i))} })}},
		{kafka.KeyOffsetCommit, 9, &message.OffsetCommitRequest{Topics: many(topics, func(i int) message.OffsetCommitTopic {
			return message.OffsetCommitTopic{Name: name(i), Partitions: many(each, func(int) message.OffsetCommitPartition {
				return message.OffsetCommitPartition{CommittedMetadata: new(string)}
			})}
		})}},
		{kafka.KeyOffsetFetch, 9, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{{Topics: many(topics, func(i int) message.OffsetFetchTopic {
			return message.OffsetFetchTopic{Name: name(i), PartitionIndexes: numbers}
		})}}}},
		{kafka.KeyOffsetFetch, 9, &message.OffsetFetchRequest{Groups: []message.OffsetFetchGroup{{Topics: many(maxPartitions, func(i int) message.OffsetFetchTopic {
			return message.OffsetFetchTopic{Name: name(i), PartitionIndexes: numbers[:1]}
		})}}}},
		{kafka.KeyDescribeGroups, 5, &message.DescribeGroupsRequest{Groups: many(10_000, name)}},
		{kafka.KeyCreateTopics, 7, &message.CreateTopicsRequest{Topics: many(10_000, func(i int) message.CreateTopicsTopic {
			return newTopic(name(i), 1, 1, "retention.ms=1", "segment.ms=2", "retention.bytes=3")
		})}},
		{kafka.KeyDescribeConfigs, 4, &message.DescribeConfigsRequest{Resources: many(10_000, func(i int) message.DescribeConfigsResource {
			return message.DescribeConfigsResource{ResourceType: configTopic, ResourceName: name(i), ConfigurationKeys: []string{retention, "segment.ms"}}
		})}},
		{kafka.KeyIncrementalAlterConfigs, 1, &message.IncrementalAlterConfigsRequest{Resources: many(10_000, func(i int) message.IncrementalAlterConfigsResource {
			return increment(configTopic, name(i), "retention.ms=1", "segment.ms=2", "-retention.bytes")
		})}},
		{kafka.KeyAlterClientQuotas, 1, &message.AlterClientQuotasRequest{Entries: many(10_000, func(i int) message.AlterClientQuotasEntry {
			return entry("user="+name(i)+" client-id="+name(i), kafka.ProducerByteRate, 1.0, kafka.ConsumerByteRate, 2.0, "-"+kafka.RequestPercentage)
		})}},
	} {
		p := newRig(t).connect(plainListener)
		frame := p.frame(c.key, c.version, c.req)
		api, _ := message.Lookup(c.key)
		header, body, err := codec.ParseHeader(frame, api.IsFlexible(c.version))
		if err != nil {
			t.Fatal(err)
		}
		asked := p.session.(*session).newCall(p.ctx, header, &server.Request{Frame: frame, Received: time.Now()}, nil)
		if err := codec.Decode(body, c.version, api.IsFlexible(c.version), api.NewRequest(), asked.budget()); err != nil || len(frame) > maxFrame {
			t.Errorf("%s in %d bytes: %v", c.key, len(frame), err)
		}
	}
}
