package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
)

// A client whose connections were closed because it was silent comes back
// without a word: its next records are produced and read, once.
func TestIdleClientsComeBack(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, func(c *broker.Config) { c.Network.IdleTimeout = time.Second }) // between the two requests of a new connection too
	client := newClient(t, b.Plain, kgo.DefaultProduceTopic("t"))
	consumer := newClient(t, b.Plain, kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for i := range 5 {
		if err := client.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint(i))).FirstErr(); err != nil {
			t.Errorf("record %d: %v", i, err)
		}
		if got := take(t, consumer, 1); len(got) != 1 || got[0] != fmt.Sprint(i) {
			t.Errorf("record %d: read %v", i, got)
		}
		consumer.PauseFetchTopics("t")
		eventually(t, "all connections are closed", func() bool { return scrape(t, b).sum("kaasd_connections") == 0 })
		consumer.ResumeFetchTopics("t")
	}
}

// A fetch that waits longer than the idle limit is not idle.
func TestParkedFetchesAreNotIdle(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, func(c *broker.Config) { c.Network.IdleTimeout = time.Second })
	p := dial(t, b.Plain)
	p.newTopic("t")
	req := fetchRequest("t", 0)
	req.MaxWaitMs = 3000
	if got := p.fetchOne(12, req); got.ErrorCode != 0 || len(got.Records.Bytes) > 0 {
		t.Errorf("got %+v", got)
	}
	p.versions()
}
