package broker_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
)

// Everything at once: clients that produce and fetch under quotas that change
// all the time, topics that come and go, reloads and scrapes. Afterwards nobody
// is muted and nothing is left open.
func TestCrowd(t *testing.T) { bothModels(t, crowd) }

func crowd(t *testing.T, model func(*broker.Config)) {
	path := filepath.Join(t.TempDir(), "credentials.json")
	file := func(quota int) string { return fileQuota(fmt.Sprintf(`"producerMaxByteRatePerBroker":%d`, quota)) }
	rewrite(t, path, file(1000))
	b := brokertest.Start(t, model, func(c *broker.Config) { c.CredentialsFile = path })
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	admin.newTopic("t")
	done := make(chan struct{})
	var disturbers, clients sync.WaitGroup
	disturb := func(what func(i int)) {
		disturbers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					what(i)
				}
			}
		})
	}
	quotas := dial(t, b.Plain)
	disturb(func(i int) {
		rate := []float64{1, 1000, 1e6, 1e9}[rand.IntN(4)]
		o := ops(set(kafka.ProducerByteRate, rate), set(kafka.ConsumerByteRate, rate))
		if i%3 == 0 {
			o = ops(unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))
		}
		for _, user := range []string{anonymous, "alice"} {
			quotas.send(1, &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{entry(user, o...)}})
			quotas.read(&message.AlterClientQuotasResponse{})
		}
	})
	disturb(func(i int) {
		if err := os.WriteFile(path, []byte(file(1000+i)), 0o600); err != nil {
			t.Error(err)
		}
		b.Reload(credstore.TriggerSignal)
	})
	all := levels()
	changing := dial(t, b.Plain)
	changing.clientID = "admin"
	disturb(func(i int) { // most are refused by the user model
		rate := []float64{1, 1000, 1e6, 1e9}[rand.IntN(4)]
		o := ops(set(kafka.ProducerByteRate, rate), set(kafka.ConsumerByteRate, rate))
		if i%2 == 0 {
			o = ops(unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))
		}
		changing.alterAll(1, false, message.AlterClientQuotasEntry{Entity: all[rand.IntN(len(all))].entity, Ops: o})
	})
	topics := dial(t, b.Plain)
	disturb(func(int) {
		topics.newTopic("fleeting")
		call[message.DeleteTopicsResponse](topics, 5, &message.DeleteTopicsRequest{TimeoutMs: 30_000, TopicNames: []string{"fleeting"}})
	})
	disturb(func(int) {
		for _, p := range []string{"/metrics", "/v1/quotas", "/v1/status", "/v1/quotas/resolve?user=alice"} {
			if status, _ := page(t, b, p); status != http.StatusOK {
				t.Errorf("%s: %d", p, status)
			}
		}
	})
	for range 3 {
		for _, p := range []*peer{dial(t, b.Plain), dialAs(t, b.SASL, "alice", "a-secret")} {
			clients.Go(func() {
				for i := range 60 {
					p.produce([]string{"t", "fleeting"}[i%2], batch(2000))
					call[message.FetchResponse](p, 12, fetchRequest([]string{"t", "fleeting"}[i%2], 0))
				}
				_ = p.Close()
			})
		}
	}
	clients.Wait()
	close(done)
	disturbers.Wait()
	for _, user := range []string{anonymous, "alice"} {
		admin.alter(user, set(kafka.ProducerByteRate, 1), set(kafka.ConsumerByteRate, 1)) // what only the file gives cannot be removed
		admin.alter(user, unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))
	}
	for _, l := range all {
		admin.alterAll(1, false, message.AlterClientQuotasEntry{Entity: l.entity, Ops: ops(unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))})
	}
	awaitMuted(t, b, "produce", 0)
	awaitMuted(t, b, "fetch", 0)
	eventually(t, "connections are closed", func() bool {
		all := scrape(t, b)
		return all.sum("kaasd_connections", "listener", "PLAINTEXT") == 4 && all.sum("kaasd_connections", "listener", "SASL_PLAINTEXT") == 0
	})
	admin.mustProduce("t", batch(10))
}
