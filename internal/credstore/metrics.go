package credstore

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// otherAuthType is the label of the kinds of entry that have none of their
// own: a file must not be able to mint series.
const otherAuthType = "other"

var countedAuthTypes = []string{AuthScramSHA512, AuthScramSHA256, AuthTLS, AuthServiceAccount, otherAuthType}

type metrics struct {
	successful prometheus.Gauge
	succeeded  prometheus.Gauge
	watching   prometheus.Gauge
	reloads    *prometheus.CounterVec // trigger, result
	users      *prometheus.GaugeVec   // auth_type
}

func newMetrics(reg prometheus.Registerer) *metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	f := promauto.With(reg)
	m := &metrics{
		successful: f.NewGauge(prometheus.GaugeOpts{
			Name: "kaasd_credentials_last_reload_successful",
			Help: "Whether the last read of the credentials file was usable, also where nothing had changed.",
		}),
		succeeded: f.NewGauge(prometheus.GaugeOpts{
			Name: "kaasd_credentials_last_reload_success_timestamp_seconds",
			Help: "When the credentials file was last read and usable.",
		}),
		watching: f.NewGauge(prometheus.GaugeOpts{
			Name: "kaasd_credentials_watch",
			Help: "Whether changes of the credentials file are noticed at once; at 0 they are noticed within ten seconds.",
		}),
		reloads: f.NewCounterVec(prometheus.CounterOpts{
			Name: "kaasd_credentials_reloads_total",
			Help: "Reads of the credentials file.",
		}, []string{"trigger", "result"}),
		users: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kaasd_credentials_users",
			Help: "Users in force.",
		}, []string{"auth_type"}),
	}
	for _, trigger := range []Trigger{TriggerStart, TriggerWatch, TriggerPoll, TriggerSignal, TriggerHTTP} {
		for _, outcome := range []Outcome{Applied, Unchanged, Failed} {
			m.reloads.WithLabelValues(string(trigger), string(outcome))
		}
	}
	m.count(emptySnapshot())
	return m
}

// reloaded counts one read of the file.
func (m *metrics) reloaded(t Trigger, o Outcome, now time.Time) {
	m.reloads.WithLabelValues(string(t), string(o)).Inc()
	if o == Failed {
		m.successful.Set(0)
		return
	}
	m.successful.Set(1)
	m.succeeded.Set(float64(now.UnixMilli()) / 1000)
}

func (m *metrics) watch(on bool) {
	if on {
		m.watching.Set(1)
	} else {
		m.watching.Set(0)
	}
}

// count sets the users by kind.
func (m *metrics) count(s *Snapshot) {
	counts := map[string]int{}
	for _, u := range s.Users {
		kind := u.AuthType
		if kind == AuthPlain || !known(kind) {
			kind = otherAuthType
		}
		counts[kind]++
	}
	for _, kind := range countedAuthTypes {
		m.users.WithLabelValues(kind).Set(float64(counts[kind]))
	}
}
