package certificate

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kaasd/internal/watch"
)

type metrics struct {
	reloads  *watch.Reloads
	notAfter *prometheus.GaugeVec // file
}

func newMetrics(reg prometheus.Registerer) *metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	return &metrics{reloads: watch.NewReloads(reg, "kaasd_tls", "the certificate files"), notAfter: NotAfter(reg)}
}

// NotAfter is the gauge of when certificates end, by file. The pages, whose
// certificate is none of a Store, put theirs into it too: it is made once for a
// registry.
func NotAfter(reg prometheus.Registerer) *prometheus.GaugeVec {
	made := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kaasd_tls_certificate_not_after_timestamp_seconds",
		Help: "When the certificates of a file that are in force end, the first of its chain, or of the authorities that had not ended when they were read; file=\"http.config.file\" is what the pages show and trust.",
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

func (m *metrics) inForce(s *set, taken time.Time) {
	for file, end := range s.ends(taken) {
		m.notAfter.WithLabelValues(file).Set(float64(end.Unix()))
	}
}
