package handlers

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/storage"
)

// logs finds the logs of partitions, and keeps them as the metadata says:
// configured as their topics are, deleted when those are. A log is opened when
// it is first asked for.
type logs struct {
	store   storage.Store
	meta    *metadata.Store
	log     *zap.Logger
	traffic *traffic

	mu      sync.RWMutex
	byTopic map[kafka.TopicID][]*partition // by number; nil: not opened
}

// partition is one log with what is counted of its topic.
type partition struct {
	storage.Log
	received, sent prometheus.Counter // record bytes
}

func newLogs(store storage.Store, meta *metadata.Store, log *zap.Logger, reg prometheus.Registerer) *logs {
	return &logs{store: store, meta: meta, log: log, traffic: newTraffic(reg), byTopic: map[kafka.TopicID][]*partition{}}
}

// find gives the log of a partition, or UnknownTopicOrPartition.
func (l *logs) find(t *metadata.Topic, number int32) (*partition, error) {
	if err := hasPartition(t, number); err != nil {
		return nil, err
	}
	l.mu.RLock()
	opened := l.byTopic[t.ID]
	if int(number) < len(opened) && opened[number] != nil {
		defer l.mu.RUnlock()
		return opened[number], nil
	}
	l.mu.RUnlock()
	return l.open(t.ID, number)
}

// open opens a log, unless the topic is gone by now: a deletion is published
// in the image before the logs are deleted, under mu, so that no log can be
// opened behind it.
func (l *logs) open(id kafka.TopicID, number int32) (*partition, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.meta.Image().TopicByID(id)
	if !ok {
		return nil, kafka.Errorf(kafka.UnknownTopicOrPartition, "the topic was deleted")
	}
	opened := l.byTopic[id]
	if len(opened) < int(t.Partitions) {
		opened = append(opened, make([]*partition, int(t.Partitions)-len(opened))...)
		l.byTopic[id] = opened
	}
	if opened[number] == nil {
		log, err := l.store.Open(kafka.TopicPartition{Topic: t.Name, Partition: number}, id, t.Settings.Log)
		if err != nil {
			return nil, err
		}
		received, sent := l.traffic.of(t.Name)
		opened[number] = &partition{Log: log, received: received, sent: sent}
	}
	return opened[number], nil
}

// follow does to the logs what happened to their topics. Both lists are in
// order of the names, and a topic that did not change is the same pointer.
func (l *logs) follow(old, now *metadata.Image) {
	before, after := old.Topics(), now.Topics()
	for len(before) > 0 {
		was := before[0]
		for len(after) > 0 && strings.Compare(after[0].Name, was.Name) < 0 {
			after = after[1:]
		}
		before = before[1:]
		switch {
		case len(after) > 0 && after[0] == was:
		case len(after) > 0 && after[0].ID == was.ID:
			l.configure(after[0])
		default:
			l.delete(was)
		}
	}
}

func (l *logs) configure(t *metadata.Topic) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, p := range l.byTopic[t.ID] {
		if p != nil {
			p.Configure(t.Settings.Log)
		}
	}
}

func (l *logs) delete(t *metadata.Topic) {
	l.mu.Lock()
	delete(l.byTopic, t.ID)
	l.traffic.forget(t.Name)
	l.mu.Unlock()
	for number := range t.Partitions {
		tp := kafka.TopicPartition{Topic: t.Name, Partition: number}
		if err := l.store.Delete(tp, t.ID); err != nil {
			l.log.Error("delete the log of a partition", zap.String("topic", t.Name), zap.Int32("partition", number), zap.Error(err))
		}
	}
}
