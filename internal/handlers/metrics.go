package handlers

import (
	"github.com/prometheus/client_golang/prometheus"

	"kaasd/internal/kafka"
)

// metrics counts requests and log-ins.
type metrics struct {
	errors      *prometheus.CounterVec // api, error
	unsupported prometheus.Counter
	logins      *prometheus.CounterVec // listener, mechanism, result
}

// newMetrics registers the families and gives every route, and every way to log
// in, its series.
func newMetrics(reg prometheus.Registerer, all routes, o Options) *metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	answered := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kaasd_requests_total", Help: "Requests answered."}, []string{"api"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kaasd_request_duration_seconds", Help: "Work on a request, without long-poll wait and throttle.",
		Buckets: []float64{1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1, 5}}, []string{"api"})
	m := &metrics{
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kaasd_request_errors_total", Help: "Error codes returned."}, []string{"api", "error"}),
		unsupported: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kaasd_unsupported_requests_total", Help: "Requests of an API key or version that is not served."}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kaasd_authentications_total", Help: "Log-ins by SASL, and, as mechanism=\"TLS\", by a certificate of a trusted authority; an unknown user and a wrong password look the same."},
			[]string{"listener", "mechanism", "result"}),
	}
	reg.MustRegister(answered, duration, m.errors, m.unsupported, m.logins)
	for _, r := range all.inOrder {
		r.answered = answered.WithLabelValues(r.Name)
		r.duration = duration.WithLabelValues(r.Name)
		m.errors.WithLabelValues(r.Name, kafka.UnknownServerError.String()) // an alert watches it
	}
	for _, listener := range o.SASLListeners {
		for _, mechanism := range o.Mechanisms {
			m.offer(listener, mechanism)
		}
	}
	for _, listener := range o.CertificateListeners {
		m.offer(listener, byCertificate)
	}
	return m
}

func (m *metrics) offer(listener, mechanism string) {
	m.logins.WithLabelValues(listener, mechanism, loginSuccess)
	m.logins.WithLabelValues(listener, mechanism, loginFailure)
}

// byCertificate stands for a mechanism where none was spoken.
const byCertificate = "TLS"

// The results of a log-in.
const (
	loginSuccess = "success"
	loginFailure = "failure"
)

func resultOf(err error) string {
	if err != nil {
		return loginFailure
	}
	return loginSuccess
}
