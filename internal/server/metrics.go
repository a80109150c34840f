package server

import "github.com/prometheus/client_golang/prometheus"

// rejection is why a connection was closed at accept.
type rejection string

const (
	byLimit    rejection = "limit"
	byQuota    rejection = "quota"
	byDraining rejection = "draining"
)

// metrics counts what happens to the connections of one listener.
type metrics struct {
	open      prometheus.Gauge
	accepted  prometheus.Counter
	rejected  map[rejection]prometheus.Counter
	shaken    map[bool]prometheus.Counter // handshakes by success; nil where there are none
	badFrames prometheus.Counter
}

// newMetrics registers the families and makes every series of the listeners,
// so that all exist with 0 from the start.
func newMetrics(reg prometheus.Registerer, listeners []Listener) []metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	label := []string{"listener"}
	open := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kaasd_connections", Help: "Open connections."}, label)
	accepted := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kaasd_connections_accepted_total", Help: "Connections accepted."}, label)
	rejected := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kaasd_connections_rejected_total", Help: "Connections closed at accept, by reason."}, []string{"listener", "reason"})
	badFrames := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kaasd_bad_frames_total", Help: "Frames that were not Kafka's, too large or cut off."}, label)
	handshakes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kaasd_tls_handshakes_total", Help: "TLS handshakes that ended. A peer that left before its first byte did not begin one."}, []string{"listener", "result"})
	reg.MustRegister(open, accepted, rejected, badFrames, handshakes)

	all := make([]metrics, len(listeners))
	for i, l := range listeners {
		all[i] = metrics{
			open:      open.WithLabelValues(l.Name),
			accepted:  accepted.WithLabelValues(l.Name),
			rejected:  map[rejection]prometheus.Counter{},
			badFrames: badFrames.WithLabelValues(l.Name),
		}
		for _, why := range []rejection{byLimit, byQuota, byDraining} {
			all[i].rejected[why] = rejected.WithLabelValues(l.Name, string(why))
		}
		if l.Protocol.TLS() {
			all[i].shaken = map[bool]prometheus.Counter{
				true: handshakes.WithLabelValues(l.Name, "success"), false: handshakes.WithLabelValues(l.Name, "failure"),
			}
		}
	}
	return all
}
