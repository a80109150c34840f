package credstore

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"kaasd/internal/watch"
)

// otherAuthType is the label of the kinds of entry that have none of their
// own: a file must not be able to mint series.
const otherAuthType = "other"

var countedAuthTypes = []string{AuthScramSHA512, AuthScramSHA256, AuthTLS, AuthServiceAccount, otherAuthType}

type metrics struct {
	reloads  *watch.Reloads
	watching prometheus.Gauge
	users    *prometheus.GaugeVec // auth_type
}

func newMetrics(reg prometheus.Registerer) *metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	f := promauto.With(reg)
	m := &metrics{
		reloads: watch.NewReloads(reg, "kaasd_credentials", "the credentials file"),
		watching: f.NewGauge(prometheus.GaugeOpts{
			Name: "kaasd_credentials_watch",
			Help: "Whether changes of the credentials file are noticed at once; at 0 they are noticed within ten seconds.",
		}),
		users: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kaasd_credentials_users",
			Help: "Users in force.",
		}, []string{"auth_type"}),
	}
	m.count(emptySnapshot())
	return m
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
