package admin

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"kaasd/internal/certificate"
	"kaasd/internal/watch"
)

// Build says which kaasd this is, for kaasd_build_info.
type Build struct{ Version, Revision, Branch, Tags string }

// RegisterMetrics adds kaasd_build_info and kaasd_ready, which asks ready at
// each scrape.
func RegisterMetrics(reg prometheus.Registerer, b Build, ready func() bool) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kaasd_build_info",
		Help: "Always 1; the labels say which kaasd this is.",
		ConstLabels: prometheus.Labels{
			"version": b.Version, "revision": b.Revision, "branch": b.Branch, "tags": b.Tags,
			"goversion": runtime.Version(), "goos": runtime.GOOS, "goarch": runtime.GOARCH,
		},
	})
	info.Set(1)
	reg.MustRegister(info, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kaasd_ready",
		Help: "1 while clients are served, 0 while recovering or stopping.",
	}, func() float64 {
		if ready() {
			return 1
		}
		return 0
	}))
}

// registerMetrics adds what became of the reads of the file, and makes the gauge of
// when the certificate of the pages ends.
func (g *Gate) registerMetrics(reg prometheus.Registerer) {
	g.reloads = watch.NewReloads(reg, "kaasd_http_config", "http.config.file and the files that it names")
	g.notAfter = certificate.NotAfter(reg)
}
