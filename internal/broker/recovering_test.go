package broker

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"kaasd/internal/admin"
	"kaasd/internal/server"
	"kaasd/internal/storage/segment"
)

func TestPagesWhileRecovering(t *testing.T) {
	cfg := Default()
	cfg.DataDir, cfg.HTTP.Listen = InMemory, "127.0.0.1:0"
	cfg.Listeners = []server.Listener{{Name: "PLAINTEXT", Protocol: server.Plaintext, Address: "127.0.0.1:0", Host: "127.0.0.1"}}
	b, err := New(cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	b.recovery.Store(&segment.Recovery{Done: 41, Total: 60, Reading: "orders-3"})
	want := []admin.Check{
		{Name: "listeners"},
		{Name: "recovery", Detail: "41 of 60 partitions, reading orders-3"},
		{Name: "storage", OK: true},
		{Name: "credentials", OK: true, Aside: true},
	}
	if diff := cmp.Diff(want, b.checks()); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if s := b.status(); s.ClusterID != "" || s.QuotaModel != "user" {
		t.Errorf("status = %+v", s)
	}
	if err := b.alive(); err != nil {
		t.Errorf("alive: %v", err)
	}

	if err := b.open(); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	recovered := slices.ContainsFunc(b.checks(), func(c admin.Check) bool { return c.Name == "recovery" && c.OK && c.Detail == "" })
	if !recovered {
		t.Errorf("checks after the recovery = %+v", b.checks())
	}
	if s := b.status(); s.ClusterID == "" || len(s.Listeners) != 1 {
		t.Errorf("status after the recovery = %+v", s)
	}
}
