package watch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What makes a room read its files beside an Event, as in the metrics and the log.
const (
	TriggerStart  = "start"
	TriggerSignal = "signal" // SIGHUP
	TriggerHTTP   = "http"   // POST /-/reload
)

// Outcome is how a reload ended.
type Outcome string

// The outcomes, as in the metrics.
const (
	Applied   Outcome = "applied"
	Unchanged Outcome = "unchanged" // what is in force was found again
	Failed    Outcome = "failed"    // the last good content stays in force
)

// Reloads are the metrics of files that are read again: three families, with the
// same meaning for all of them.
type Reloads struct {
	Successful prometheus.Gauge
	Succeeded  prometheus.Gauge       // when, in seconds of Unix time
	Total      *prometheus.CounterVec // trigger, result
}

// NewReloads makes the families prefix_last_reload_successful,
// prefix_last_reload_success_timestamp_seconds and prefix_reloads_total of the
// files that what names.
func NewReloads(reg prometheus.Registerer, prefix, what string) *Reloads {
	f := promauto.With(reg)
	r := &Reloads{
		Successful: f.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "_last_reload_successful",
			Help: "Whether the last read of " + what + " was usable, also where nothing had changed.",
		}),
		Succeeded: f.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "_last_reload_success_timestamp_seconds",
			Help: "When the last usable read of " + what + " was.",
		}),
		Total: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_reloads_total",
			Help: "Reads of " + what + ".",
		}, []string{"trigger", "result"}),
	}
	for _, trigger := range []string{TriggerStart, TriggerWatch, TriggerPoll, TriggerSignal, TriggerHTTP} {
		for _, outcome := range []Outcome{Applied, Unchanged, Failed} {
			r.Total.WithLabelValues(trigger, string(outcome))
		}
	}
	return r
}

// Count counts one read.
func (r *Reloads) Count(trigger string, o Outcome, now time.Time) {
	r.Total.WithLabelValues(trigger, string(o)).Inc()
	if o == Failed {
		r.Successful.Set(0)
		return
	}
	r.Successful.Set(1)
	r.Succeeded.Set(float64(now.UnixMilli()) / 1000)
}
