package broker

import (
	"sort"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"kaasd/internal/handlers"
)

// registerProcessMetrics exports what Go and the kernel know of this process.
func registerProcessMetrics(reg prometheus.Registerer) {
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// logSizes exports the bytes of each topic's logs, asked for at the scrape.
type logSizes struct {
	desc  *prometheus.Desc
	sizes func() map[string]int64
}

func newLogSizes(sizes func() map[string]int64) *logSizes {
	return &logSizes{
		desc:  prometheus.NewDesc("kaasd_log_size_bytes", "Bytes of the logs of a topic.", []string{"topic"}, nil),
		sizes: sizes,
	}
}

var _ prometheus.Collector = (*logSizes)(nil)

// Describe implements prometheus.Collector.
func (c *logSizes) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *logSizes) Collect(ch chan<- prometheus.Metric) {
	sizes := c.sizes()
	topics := make([]string, 0, len(sizes))
	for topic := range sizes {
		topics = append(topics, topic)
	}
	sort.Strings(topics)
	var other int64
	for i, topic := range topics {
		if i < handlers.MaxTopicSeries {
			ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(sizes[topic]), topic)
			continue
		}
		other += sizes[topic]
	}
	if len(topics) > handlers.MaxTopicSeries {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(other), handlers.OtherTopics)
	}
}
