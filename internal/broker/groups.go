package broker

import (
	"context"
	"time"

	"kaasd/internal/group"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// openGroups reads the groups back and has them follow the topics: offsets go
// with theirs. Those of a topic that was deleted right before the process ended
// go now.
func (b *Broker) openGroups() error {
	o := b.groupOptions()
	log, err := b.store.Open(group.LogPartition, group.LogID, o.Log)
	if err != nil {
		return &BadSetting{"data.dir", err}
	}
	b.groups, err = group.Open(context.Background(), log, o, b.log, b.reg)
	if err != nil {
		return &BadFile{err}
	}
	b.metadata.Subscribe(b.dropOffsets)
	image := b.metadata.Image()
	b.groups.DropTopics(time.Now(), func(id kafka.TopicID) bool {
		_, there := image.TopicByID(id)
		return !there
	})
	return nil
}

func (b *Broker) groupOptions() group.Options {
	o, s := group.DefaultOptions(), b.metadata.Image().Broker.Groups
	o.MinSession, o.MaxSession, o.InitialDelay, o.MaxSize = s.MinSession, s.MaxSession, s.InitialDelay, s.MaxSize
	o.Retention, o.RetentionPass, o.MaxMetadata = s.Retention, s.RetentionPass, s.MaxMetadata
	o.Log = group.LogConfig(b.cfg.Storage.Flush)
	o.Memory = b.cfg.MemoryLimit
	o.MaxSeries = b.cfg.Quota.MaxEntities
	o.End = b.endOf
	return o
}

// dropOffsets drops the offsets of topics that are not there any more.
func (b *Broker) dropOffsets(old, next *metadata.Image) {
	gone := map[kafka.TopicID]bool{}
	for _, t := range old.Gone(next) {
		gone[t.ID] = true
	}
	if len(gone) > 0 {
		b.groups.DropTopics(time.Now(), func(id kafka.TopicID) bool { return gone[id] })
	}
}

// endOf is the high watermark of a partition.
func (b *Broker) endOf(id kafka.TopicID, partition int32) (int64, bool) {
	t, ok := b.metadata.Image().TopicByID(id)
	if !ok {
		return 0, false
	}
	return b.store.HighWatermark(kafka.TopicPartition{Topic: t.Name, Partition: partition}, id)
}
