package handlers

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// TestFairness holds that equal consumers of one user get equal shares, within
// 20 % of each other over 30 s, and that together they get the quota.
func TestFairness(t *testing.T) {
	const span, consumers = 30 * time.Second, 20
	for _, c := range []struct {
		rate  float64 // bytes per second
		batch int     // bytes
		ask   int32   // bytes
	}{
		{1e6, 1000, 1 << 20}, {1e6, 16_000, 64 << 10}, {1e6, 100_000, 1 << 20}, {10e6, 16_000, 1 << 20}, {10e6, 1_000_000, 1 << 20}, {100e6, 100_000, 1 << 20},
	} {
		t.Run(fmt.Sprintf("%.0f MB per s, batches of %d, asking for %d", c.rate/1e6, c.batch, c.ask), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				id := r.topic("orders", 1).ID
				fill(t, r, id, 1+int(c.ask)/c.batch, c.batch)
				r.limit(0, c.rate)
				req := fetchFrom("", id, 0, 0)
				req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = c.ask, c.ask
				shares := consume(t, r, req, consumers, span)
				least, most, sum := shares[0], shares[0], 0
				for _, share := range shares {
					least, most, sum = min(least, share), max(most, share), sum+share
				}
				if float64(least) < 0.8*float64(most) {
					t.Errorf("shares from %d to %d bytes: %v", least, most, shares)
				}
				want := c.rate * span.Seconds()
				if got := float64(sum); got < 0.99*want || got > 1.01*want+c.rate+consumers*float64(c.batch) {
					t.Errorf("%.0f bytes in all, the quota gives %.0f", got, want)
				}
			})
		})
	}
}

// consume has clients ask again and again for a span, and gives the bytes that
// each was charged.
func consume(t *testing.T, r *rig, req *message.FetchRequest, clients int, span time.Duration) []int {
	t.Helper()
	var running sync.WaitGroup
	shares := make([]int, clients)
	end := time.Now().Add(span)
	for i := range shares {
		running.Go(func() {
			p := r.connect(plainListener)
			for time.Now().Before(end) {
				got := p.ask(kafka.KeyFetch, 13, req)
				if len(got.message.(*message.FetchResponse).Responses) > 0 {
					shares[i] += got.size
				}
				time.Sleep(got.muted() + 10*time.Microsecond) // a round trip
			}
		})
	}
	running.Wait()
	return shares
}
