package metadata

import "github.com/prometheus/client_golang/prometheus"

// register shows how much the image holds; without a registry nobody asks.
func (s *Store) register(reg prometheus.Registerer) {
	if reg == nil {
		return
	}
	reg.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kaasd_topics", Help: "Topics of this broker."},
			func() float64 { return float64(len(s.Image().Topics())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kaasd_partitions", Help: "Partitions of all topics together."},
			func() float64 { return float64(s.Image().Partitions()) }),
	)
}
