package broker_test

import (
	"net/http"
	"strings"
	"testing"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
)

// A disk that is down to its reserve is shown, and clients may come: reading
// goes on.
func TestFullDiskIsShown(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.DataDir, c.Storage.DiskReserve = t.TempDir(), 1<<62 })
	status, body := page(t, b, "/readyz?verbose")
	if want := "storage      full  writes are refused: "; status != http.StatusOK || !strings.Contains(body, want) || !strings.Contains(body, "log.disk.reserve=4611686018427387904") {
		t.Errorf("got %d %q, want %q in it", status, body, want)
	}
}
