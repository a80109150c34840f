package handlers

import "github.com/prometheus/client_golang/prometheus"

// MaxTopicSeries is how many topics have series of their own; the others share
// one, so that creating topics does not flood whoever scrapes.
const MaxTopicSeries = 1000

// OtherTopics is the topic label that the rest share.
const OtherTopics = "_other"

// traffic counts record bytes by topic. Its methods are called under the lock
// of logs.
type traffic struct {
	received, sent *prometheus.CounterVec
	named          map[string]bool
}

func newTraffic(reg prometheus.Registerer) *traffic {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"topic"})
	}
	t := &traffic{
		received: vec("kaasd_received_bytes_total", "Record bytes appended by clients."),
		sent:     vec("kaasd_sent_bytes_total", "Record bytes handed out to clients."),
		named:    map[string]bool{},
	}
	if reg != nil {
		reg.MustRegister(t.received, t.sent)
	}
	return t
}

// of gives the counters of a topic.
func (t *traffic) of(topic string) (received, sent prometheus.Counter) {
	if !t.named[topic] && len(t.named) >= MaxTopicSeries {
		topic = OtherTopics
	} else {
		t.named[topic] = true
	}
	return t.received.WithLabelValues(topic), t.sent.WithLabelValues(topic)
}

// forget ends the series of a topic that was deleted.
func (t *traffic) forget(topic string) {
	if t.named[topic] {
		delete(t.named, topic)
		t.received.DeleteLabelValues(topic)
		t.sent.DeleteLabelValues(topic)
	}
}
