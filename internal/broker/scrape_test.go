package broker_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"kaasd/internal/broker/brokertest"
)

// page asks the admin side.
func page(t *testing.T, b *brokertest.Broker, path string) (int, string) {
	t.Helper()
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + b.HTTP + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// scraped is what Prometheus sees.
type scraped map[string]*dto.MetricFamily

func scrape(t *testing.T, b *brokertest.Broker) scraped {
	t.Helper()
	status, body := page(t, b, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: %d", status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatalf("parse /metrics: %v", err)
	}
	return families
}

// sum adds up the series that have the labels, given as name and value in
// turn. Of a histogram it is the count.
func (s scraped) sum(name string, labels ...string) float64 {
	var sum float64
	for _, m := range s[name].GetMetric() {
		if !has(m, labels) {
			continue
		}
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		found := false
		for _, l := range m.GetLabel() {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// awaitMuted waits until so many connections are muted for a quota.
func awaitMuted(t *testing.T, b *brokertest.Broker, quota string, n int) {
	t.Helper()
	eventually(t, "muted connections", func() bool {
		return scrape(t, b).sum("kaasd_quota_muted_connections", "quota", quota) == float64(n)
	})
}

const ms = time.Millisecond
