package broker_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// acknowledged is what producers were told is stored, by offset.
type acknowledged struct {
	mu      sync.Mutex
	records map[int64]uint64
}

func (a *acknowledged) add(offset int64, number uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records[offset] = number
}

func (a *acknowledged) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.records)
}

// produceUntilEnd appends numbered records one after the other until the
// connection ends.
func (a *acknowledged) produceUntilEnd(ctx context.Context, client *kgo.Client, first uint64) {
	for n := first; ; n++ {
		r := &kgo.Record{Topic: "t", Value: binary.BigEndian.AppendUint64(nil, n)}
		if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
			return
		}
		a.add(r.Offset, n)
	}
}

// A broker that is asked to stop is unready at once, serves on for the delay,
// and then lets go of nothing that it acknowledged.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	folder := withFolder(t)
	b := brokertest.Start(t, folder, func(c *broker.Config) { c.ShutdownDelay = 3 * time.Second })
	dial(t, b.Plain).newTopic("t")
	acks := &acknowledged{records: map[int64]uint64{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var producers sync.WaitGroup
	for i := range uint64(4) {
		client := newClient(t, b.Plain, kgo.AllowIdempotentProduceCancellation())
		producers.Go(func() { acks.produceUntilEnd(ctx, client, i<<32) })
	}
	eventually(t, "records are acknowledged", func() bool { return acks.count() > 100 })
	if status, _ := page(t, b, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz is %d before the stop", status)
	}

	stopped := make(chan struct{})
	go func() {
		b.Stop()
		close(stopped)
	}()
	eventually(t, "/readyz is 503", func() bool { status, _ := page(t, b, "/readyz"); return status == http.StatusServiceUnavailable })
	before := acks.count()
	eventually(t, "records are still taken", func() bool { return acks.count() > before+10 })
	if status, _ := page(t, b, "/livez"); status != http.StatusOK {
		t.Errorf("/livez is %d while the broker drains", status)
	}
	if got := scrape(t, b).sum("kaasd_ready"); got != 0 {
		t.Errorf("kaasd_ready is %v", got)
	}
	<-stopped
	cancel()
	producers.Wait()
	if conn, err := net.Dial("tcp", b.Plain); err == nil {
		_ = conn.Close()
		t.Error("the port is still open")
	}

	p := dial(t, brokertest.Start(t, folder).Plain)
	stored := storedNumbers(t, p)
	for offset, number := range acks.records {
		if stored[offset] != number {
			t.Errorf("offset %d holds %x, %x was acknowledged", offset, stored[offset], number)
		}
	}
}

// storedNumbers are the records of the topic by offset.
func storedNumbers(t *testing.T, p *peer) map[int64]uint64 {
	t.Helper()
	stored := map[int64]uint64{}
	for next, end := int64(0), endOffset(p, "t"); next < end; {
		resp := call[message.FetchResponse](p, 12, fetchRequest("t", next))
		for _, b := range batches(t, resp.Responses[0].Partitions[0].Records.Bytes) {
			for r, err := range b.Records() {
				if err != nil {
					t.Fatal(err)
				}
				stored[r.Offset] = binary.BigEndian.Uint64(r.Value)
			}
			next = b.NextOffset()
		}
	}
	return stored
}

// Mutes of a quarter of an hour and fetches parked for ten minutes do not hold
// a stop, nor does who is at rest or does not read its answers.
func TestStopWaitsForNobody(t *testing.T) { bothModels(t, stopWaitsForNobody) }

func stopWaitsForNobody(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	admin.alter(anonymous, unset(kafka.ConsumerByteRate))
	muted, parked, atRest := dial(t, b.Plain), dial(t, b.Plain), dial(t, b.Plain)
	atRest.versions()
	parked.newTopic("idle")
	fetch := fetchRequest("idle", 0)
	fetch.MaxWaitMs = 600_000
	parked.send(12, fetch)
	muted.overdraw("t")
	muted.send(9, produceRequest("t", 1, batch(10)))
	awaitMuted(t, b, "produce", 1)
	b.Stop() // fails the test when shutdown.timeout cuts it
	muted.mustEnd()
	atRest.mustEnd()
	var resp message.FetchResponse
	parked.read(&resp) // a stop ends the wait, and the answer goes out
	if resp.ErrorCode != kafka.NoError {
		t.Errorf("the parked fetch is answered with %s", resp.ErrorCode)
	}
	parked.mustEnd()
}

// A peer that takes no bytes is given up soon after a stop.
func TestStopGivesUpStalledReaders(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t)
	p := dial(t, b.Plain)
	p.newTopic("t", message.CreateTopicsConfig{Name: "max.message.bytes", Value: ptr("10000000")})
	for range 4 {
		p.mustProduce("t", batch(9_000_000))
	}
	stalled := dial(t, b.Plain)
	if err := stalled.Conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	stalled.send(12, fetchRequest("t", 0))
	eventually(t, "the fetch is being answered", func() bool {
		return scrape(t, b).sum("kaasd_sent_bytes_total", "topic", "t") > 9_000_000
	})
	b.Stop()
}
