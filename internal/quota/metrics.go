package quota

import (
	"github.com/prometheus/client_golang/prometheus"

	"kaasd/internal/kafka"
)

// What kaasd says about quotas. The labels user and client_id are the owner of
// the bucket, and bounded: see slots. What one kind alone counts is in units.
var (
	checksDesc = prometheus.NewDesc("kaasd_quota_checks_total",
		"Decisions taken, by the level of precedence that decided.", []string{"quota", "level", "outcome"}, nil)
	waitsDesc = prometheus.NewDesc("kaasd_quota_throttle_seconds",
		"Throttle announced, per throttled request.", []string{"quota"}, nil)
	mutedDesc = prometheus.NewDesc("kaasd_quota_muted_connections",
		"Connections muted now.", []string{"quota"}, nil)
	trackedDesc = prometheus.NewDesc("kaasd_quota_tracked_entities",
		"Entities with live accounting.", []string{"quota"}, nil)
	configsDesc = prometheus.NewDesc("kaasd_quota_configs",
		"Entities with a setting.", []string{"source"}, nil)
	alterationsDesc = prometheus.NewDesc("kaasd_quota_alterations_total",
		"Entries of AlterClientQuotas.", []string{"result"}, nil)
	seriesDesc = prometheus.NewDesc("kaasd_quota_entity_series",
		"Entities with series of their own, and those that share the overflow.", []string{"state"}, nil)

	refusedDesc = prometheus.NewDesc("kaasd_ip_connections_refused_total",
		"Connections closed by an ip quota.", nil, nil)
	exemptDesc = prometheus.NewDesc("kaasd_quota_exempt_request_seconds_total",
		"Handler time that nobody is charged.", nil, nil)

	owned         = []string{"quota", "user", "client_id"}
	throttledDesc = prometheus.NewDesc("kaasd_quota_entity_throttled_requests_total",
		"Requests throttled.", owned, nil)
	throttleDesc = prometheus.NewDesc("kaasd_quota_entity_throttle_seconds_total",
		"Throttle time handed out.", owned, nil)
)

// collector reads the counts when it is asked, so that counting costs no more
// than an atomic addition.
type collector struct{ e *Enforcer }

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{checksDesc, waitsDesc, mutedDesc, trackedDesc, configsDesc,
		alterationsDesc, seriesDesc, refusedDesc, exemptDesc, throttledDesc, throttleDesc} {
		out <- d
	}
	for _, u := range units {
		u.describe(out)
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := c.e.survey()
	c.e.model.enforced(func(k *key) { c.collectKind(out, s, k) })
	gauge(out, configsDesc, s.base, sourceBase)
	gauge(out, configsDesc, s.overrides, sourceOverride)
	counter(out, alterationsDesc, float64(s.applied), "applied")
	counter(out, alterationsDesc, float64(s.rejected), "rejected")
	gauge(out, seriesDesc, s.exported, "exported")
	gauge(out, seriesDesc, s.folded, "folded")
	counter(out, refusedDesc, float64(c.e.refused.Load()))
}

func counter(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (c collector) collectKind(out chan<- prometheus.Metric, s *survey, k *key) {
	m, of, quota := c.e.meters[k.kind], &s.kinds[k.kind], k.kind.String()
	for i := range c.e.model.levels {
		if l := &c.e.model.levels[i]; (l.ip != absent) == k.ofIP {
			counter(out, checksDesc, float64(of.levels[i].checks-of.levels[i].denied), quota, l.name, "within")
			counter(out, checksDesc, float64(of.levels[i].denied), quota, l.name, "throttled")
		}
	}
	counter(out, checksDesc, float64(m.unlimited.Load()), quota, levelNone, "unlimited")
	gauge(out, trackedDesc, float64(of.tracked), quota)
	out <- m.waits.metric(quota)
	switch k.kind {
	case Connection:
		return
	case Request:
		counter(out, exemptDesc, float64(c.e.exempt.Load())/1e9)
	}
	gauge(out, mutedDesc, float64(m.mutes.count()), quota)
	for owner, line := range of.lines {
		units[k.kind].collect(out, k.kind, owner, line)
		counter(out, throttledDesc, float64(line.throttled), quota, owner.user, owner.clientID)
		counter(out, throttleDesc, float64(line.nanos)/1e9, quota, owner.user, owner.clientID)
		if c.e.options.KafkaNames && owner != otherOwners {
			units[k.kind].collectKafka(out, owner, line)
		}
	}
}

func (w *waits) metric(quota string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(waitBounds))
	seen := uint64(0)
	for i, bound := range waitBounds {
		seen += uint64(w.counts[i].Load())
		buckets[bound.Seconds()] = seen
	}
	seen += uint64(w.counts[len(waitBounds)].Load())
	return prometheus.MustNewConstHistogram(waitsDesc, seen, float64(w.nanos.Load())/1e9, buckets, quota)
}

func labelsOf(owner kafka.Entity) ownerLabels {
	return ownerLabels{user: kafka.Label(owner.User.Name), clientID: kafka.Label(owner.ClientID.Name)}
}
