package group

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"kaasd/internal/kafka"
)

// What kaasd says about groups. The labels group and topic are bounded: the
// first Options.MaxSeries by name have series of their own, the others share
// one, so that clients cannot mint series.
var (
	lagDesc = prometheus.NewDesc("kaasd_group_lag",
		"Records behind the committed offsets of a group, in a topic's partitions together.", []string{"group", "topic"}, nil)
	membersDesc = prometheus.NewDesc("kaasd_group_members",
		"Members of a group.", []string{"group"}, nil)
	stateDesc = prometheus.NewDesc("kaasd_group_state",
		"1 for the state that a group is in; of the groups that share a series, how many are in the state.", []string{"group", "state"}, nil)
	rebalancesDesc = prometheus.NewDesc("kaasd_group_rebalances_total",
		"Rebalances of a group since the start of this process.", []string{"group"}, nil)
	keptDesc = prometheus.NewDesc("kaasd_group_memory_bytes",
		"What all groups keep of a kind, as it counts against the limit.", []string{"kind"}, nil)
	limitDesc = prometheus.NewDesc("kaasd_group_memory_limit_bytes",
		"What all groups may keep of a kind; requests that would have them keep more are refused.", []string{"kind"}, nil)
)

// others is the label of the groups, and topics, that share a series.
const others = "_other"

// collector looks at the groups when it is asked.
type collector struct{ c *Coordinator }

var _ prometheus.Collector = collector{}

// Describe implements prometheus.Collector.
func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lagDesc, membersDesc, stateDesc, rebalancesDesc, keptDesc, limitDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	for _, a := range []*account{&c.c.members, &c.c.offsets} {
		out <- prometheus.MustNewConstMetric(keptDesc, prometheus.GaugeValue, float64(a.kept.Load()), a.kind.String())
		out <- prometheus.MustNewConstMetric(limitDesc, prometheus.GaugeValue, float64(a.limit), a.kind.String())
	}
	s := c.c.survey()
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[name]
		out <- prometheus.MustNewConstMetric(membersDesc, prometheus.GaugeValue, float64(g.members), name)
		out <- prometheus.MustNewConstMetric(rebalancesDesc, prometheus.CounterValue, float64(g.rebalances), name)
		for state, n := range g.states {
			if n > 0 {
				out <- prometheus.MustNewConstMetric(stateDesc, prometheus.GaugeValue, float64(n), name, State(state).String())
			}
		}
	}
	for pair, lag := range s.lags {
		out <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, float64(lag), pair.group, pair.topic)
	}
}

// survey is what one scrape tells.
type survey struct {
	groups map[string]*counted
	lags   map[pair]int64
}

type counted struct {
	members    int
	rebalances int64
	states     [Dead]int
}

type pair struct{ group, topic string }

// survey looks at all groups, in order of their names.
func (c *Coordinator) survey() survey {
	s := survey{groups: map[string]*counted{}, lags: map[pair]int64{}}
	for _, g := range c.all() {
		s.count(g, &c.o)
	}
	return s
}

func (s *survey) count(g *group, o *Options) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == Dead {
		return
	}
	name := kafka.Label(g.name)
	if s.groups[name] == nil && len(s.groups) >= o.MaxSeries {
		name = others
	}
	if s.groups[name] == nil {
		s.groups[name] = &counted{}
	}
	n := s.groups[name]
	n.members += len(g.inOrder)
	n.rebalances += g.rebalances
	n.states[g.state]++
	if o.End == nil {
		return
	}
	for _, t := range g.offsets.byName() {
		p := pair{name, t.name}
		if _, known := s.lags[p]; name == others || !known && len(s.lags) >= o.MaxSeries {
			p = pair{others, others}
		}
		s.lags[p] += t.lag(o.End)
	}
}

// lag is how many records lie between the offsets of a topic and its ends.
func (t *topicOffsets) lag(end func(kafka.TopicID, int32) (int64, bool)) (lag int64) {
	for p, c := range t.partitions {
		if hw, ok := end(t.id, p); ok {
			lag += max(hw-c.Offset, 0)
		}
	}
	return lag
}
