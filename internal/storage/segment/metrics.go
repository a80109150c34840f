package segment

import "github.com/prometheus/client_golang/prometheus"

// kinds are the label values of kaasd_storage_errors_total, all there from
// the start.
var kinds = []string{"append", "cut", "delete", "full", "gap", "open", "read", "retain", "sync", "truncate"}

type metrics struct {
	errors *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	m := &metrics{errors: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kaasd_storage_errors_total",
		Help: "What went wrong with the partition logs, by what was being done.",
	}, []string{"kind"})}
	for _, kind := range kinds {
		m.errors.WithLabelValues(kind)
	}
	reg.MustRegister(m.errors)
	return m
}
