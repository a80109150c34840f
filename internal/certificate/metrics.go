package certificate

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	successful prometheus.Gauge
	succeeded  prometheus.Gauge
	reloads    *prometheus.CounterVec // trigger, result
	notAfter   *prometheus.GaugeVec   // file
}

func newMetrics(reg prometheus.Registerer) *metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	f := promauto.With(reg)
	m := &metrics{
		successful: f.NewGauge(prometheus.GaugeOpts{
			Name: "kaasd_tls_last_reload_successful",
			Help: "Whether the certificates were usable when they were last read, also where nothing had changed.",
		}),
		succeeded: f.NewGauge(prometheus.GaugeOpts{
			Name: "kaasd_tls_last_reload_success_timestamp_seconds",
			Help: "When the certificates were last read and usable.",
		}),
		reloads: f.NewCounterVec(prometheus.CounterOpts{
			Name: "kaasd_tls_reloads_total",
			Help: "Reads of the certificate files.",
		}, []string{"trigger", "result"}),
		notAfter: NotAfter(reg),
	}
	for _, trigger := range triggers {
		for _, outcome := range []Outcome{Applied, Unchanged, Failed} {
			m.reloads.WithLabelValues(trigger, string(outcome))
		}
	}
	return m
}

// NotAfter is the gauge of when certificates end, by file. The pages, whose
// certificate is none of a Store, put theirs into it too: it is made once for a
// registry.
func NotAfter(reg prometheus.Registerer) *prometheus.GaugeVec {
	made := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kaasd_tls_certificate_not_after_timestamp_seconds",
		Help: "When the certificates of a file that are in force end, the first of its chain; file=\"http.config.file\" is what the pages show.",
	}, []string{"file"})
	err := reg.Register(made)
	if there := (prometheus.AlreadyRegisteredError{}); errors.As(err, &there) {
		return there.ExistingCollector.(*prometheus.GaugeVec)
	}
	if err != nil {
		panic(err) // as promauto does
	}
	return made
}

// reloaded counts one read of the files.
func (m *metrics) reloaded(trigger string, o Outcome, now time.Time) {
	m.reloads.WithLabelValues(trigger, string(o)).Inc()
	if o == Failed {
		m.successful.Set(0)
		return
	}
	m.successful.Set(1)
	m.succeeded.Set(float64(now.UnixMilli()) / 1000)
}

func (m *metrics) inForce(s *set) {
	for file, end := range s.ends {
		m.notAfter.WithLabelValues(file).Set(float64(end.Unix()))
	}
}
