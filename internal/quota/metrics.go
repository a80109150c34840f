package quota

import (
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"kaasd/internal/kafka"
)

// What kaasd says about quotas. The labels user and client_id are the owner of
// the bucket, and bounded: see slots.
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

	owned     = []string{"quota", "user", "client_id"}
	limitDesc = prometheus.NewDesc("kaasd_quota_entity_limit_bytes_per_second",
		"Limit in force.", owned, nil)
	bytesDesc = prometheus.NewDesc("kaasd_quota_entity_bytes_total",
		"Bytes charged.", owned, nil)
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
		alterationsDesc, seriesDesc, limitDesc, bytesDesc, throttledDesc, throttleDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := c.e.survey()
	for k := range Kind(kinds) {
		s.collectKind(out, c.e.meters[k], c.e.model.levels[0].name)
	}
	gauge(out, configsDesc, s.base, sourceBase)
	gauge(out, configsDesc, s.overrides, sourceOverride)
	counter(out, alterationsDesc, float64(s.applied), "applied")
	counter(out, alterationsDesc, float64(s.rejected), "rejected")
	gauge(out, seriesDesc, s.exported, "exported")
	gauge(out, seriesDesc, s.folded, "folded")
}

func counter(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// survey is the counts of a moment.
type survey struct {
	base, overrides, exported, folded float64
	applied, rejected                 int
	kinds                             [kinds]struct {
		all     totals
		tracked float64
		lines   map[ownerLabels]*seriesLine
	}
}

type ownerLabels struct{ user, clientID string }

type seriesLine struct {
	totals
	limit float64 // 0: none
}

// otherOwners is what the owners without series of their own share.
var otherOwners = ownerLabels{user: "_other", clientID: "_other"}

func (e *Enforcer) survey() *survey {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := &survey{
		base: float64(len(e.base)), overrides: float64(len(e.overrides)),
		applied: e.applied, rejected: e.rejected,
	}
	for k := range s.kinds {
		s.kinds[k].all = e.meters[k].retired
		s.kinds[k].lines = map[ownerLabels]*seriesLine{}
		if e.series.other[k] != (totals{}) {
			s.line(Kind(k), otherOwners).totals = e.series.other[k]
		}
	}
	e.accounts.each(s.add)
	return s
}

func (s *survey) line(k Kind, owner ownerLabels) *seriesLine {
	lines := s.kinds[k].lines
	if lines[owner] == nil {
		lines[owner] = &seriesLine{}
	}
	return lines[owner]
}

// add counts an account in. Owners whose names became equal share a line.
func (s *survey) add(a *account) {
	owner := otherOwners
	if a.series.own {
		owner = labelsOf(a.owner)
		s.exported++
	} else {
		s.folded++
	}
	for k := range a.buckets {
		b := &a.buckets[k]
		t := b.totals()
		s.kinds[k].all = s.kinds[k].all.plus(t)
		if !b.named.Load() {
			continue
		}
		s.kinds[k].tracked++
		line := s.line(Kind(k), owner)
		line.totals = line.plus(t.minus(a.series.from[k]))
		if lim := b.limit.Load(); !lim.isUnlimited() {
			line.limit += lim.rate
		}
	}
}

func (s *survey) collectKind(out chan<- prometheus.Metric, m *meter, level string) {
	quota, of := m.kind.String(), &s.kinds[m.kind]
	counter(out, checksDesc, float64(of.all.checks-of.all.throttled), quota, level, "within")
	counter(out, checksDesc, float64(of.all.throttled), quota, level, "throttled")
	counter(out, checksDesc, float64(m.unlimited.Load()), quota, levelNone, "unlimited")
	gauge(out, mutedDesc, float64(m.muted.Load()), quota)
	gauge(out, trackedDesc, of.tracked, quota)
	out <- m.waits.metric(quota)
	for owner, line := range of.lines {
		labels := []string{quota, owner.user, owner.clientID}
		if line.limit > 0 {
			gauge(out, limitDesc, line.limit, labels...)
		}
		counter(out, bytesDesc, float64(line.bytes), labels...)
		counter(out, throttledDesc, float64(line.throttled), labels...)
		counter(out, throttleDesc, float64(line.nanos)/1e9, labels...)
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
	return ownerLabels{user: label(owner.User.Name), clientID: label(owner.ClientID.Name)}
}

// maxLabel is the longest label value, in bytes.
const maxLabel = 128

// label makes a name of any bytes fit for a label.
func label(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) <= maxLabel {
		return name
	}
	cut := maxLabel - 1
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "~"
}
