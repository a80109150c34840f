package handlers

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

func TestLogsFollowTheirTopics(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 2).ID
	other := r.topic("other", 1).ID
	p := r.connect(plainListener)
	p.produce(13, "", id, batch("a"))
	p.produce(13, "", other, batch("a"))
	t.Run("configs", func(t *testing.T) {
		change := metadata.TopicConfigsSet{ID: id, Configs: map[string]string{"message.timestamp.type": "LogAppendTime"}}
		if _, err := r.Metadata.Commit(context.Background(), change); err != nil {
			t.Fatal(err)
		}
		if got := p.produce(13, "", id, batch("b")); got.LogAppendTimeMs < time.Now().Add(-time.Hour).UnixMilli() {
			t.Errorf("append time %d", got.LogAppendTimeMs)
		}
	})
	t.Run("more partitions", func(t *testing.T) {
		if _, err := r.Metadata.Commit(context.Background(), metadata.PartitionsAdded{ID: id, Partitions: 5}); err != nil {
			t.Fatal(err)
		}
		got := p.ask(kafka.KeyProduce, 13, produceTo("", id, 4, 1, batch("a")))
		if got.Close || r.logs.byTopic[id][4] == nil || r.logs.byTopic[id][3] != nil {
			t.Error("the new partition was not opened, or another one was")
		}
	})
	t.Run("the end", func(t *testing.T) {
		found, _ := r.Metadata.Image().TopicByID(id)
		r.commit(metadata.TopicDeleted{ID: id})
		if got := p.produce(13, "", id, batch("c")).ErrorCode; got != kafka.UnknownTopicID {
			t.Errorf("produce: %v", got)
		}
		if _, err := r.logs.find(found, 0); kafka.CodeOf(err) != kafka.UnknownTopicOrPartition {
			t.Errorf("a log of a deleted topic opens again: %v", err)
		}
		var left []string
		for _, known := range r.store.Partitions() {
			if !known.IsOwn() {
				left = append(left, known.Topic)
			}
		}
		if diff := cmp.Diff([]string{"other"}, left); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("another life", func(t *testing.T) {
		again := r.topic("orders", 1).ID
		if got := p.produce(13, "", again, batch("d")); got.ErrorCode != kafka.NoError || got.BaseOffset != 0 {
			t.Errorf("%v at %d", got.ErrorCode, got.BaseOffset)
		}
		if got := p.fetched(13, fetchFrom("", id, 0, 0)).ErrorCode; got != kafka.UnknownTopicID {
			t.Errorf("the old id: %v", got)
		}
	})
}

func TestTrafficIsCountedByTopic(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 1).ID
	p := r.connect(plainListener)
	size := len(sized(500))
	p.produce(13, "", id, sized(500))
	p.fetched(13, fetchFrom("", id, 0, 0))
	p.fetched(13, fetchFrom("", id, 0, 0))
	if got := testutil.ToFloat64(r.logs.traffic.received.WithLabelValues("orders")); got != float64(size) {
		t.Errorf("received %v bytes, want %d", got, size)
	}
	if got := testutil.ToFloat64(r.logs.traffic.sent.WithLabelValues("orders")); got != float64(2*size) {
		t.Errorf("sent %v bytes, want %d", got, 2*size)
	}
}

func TestTrafficSeriesAreBounded(t *testing.T) {
	traffic := newTraffic(prometheus.NewRegistry())
	for i := range MaxTopicSeries + 10 {
		traffic.of("t" + strconv.Itoa(i))
	}
	if n := testutil.CollectAndCount(traffic.received); n != MaxTopicSeries+1 {
		t.Errorf("%d series, want %d", n, MaxTopicSeries+1)
	}
	traffic.forget("t5")
	traffic.of("late")
	if n := testutil.CollectAndCount(traffic.sent); n != MaxTopicSeries+1 || !traffic.named["late"] {
		t.Errorf("%d series after one has gone", n)
	}
}
