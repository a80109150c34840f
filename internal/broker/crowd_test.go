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

// disturbers do what they are for, each again and again, until all are stopped.
type disturbers struct {
	done chan struct{}
	wait sync.WaitGroup
}

func (d *disturbers) start(what func(i int)) {
	d.wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-d.done:
				return
			default:
				what(i)
			}
		}
	})
}

func (d *disturbers) stop() {
	close(d.done)
	d.wait.Wait()
}

// Everything at once: clients that produce and fetch under quotas that change
// all the time, topics that come and go, reloads and scrapes. Afterwards nobody
// is muted and nothing is left open.
func TestCrowd(t *testing.T) { bothModels(t, crowd) }

func crowd(t *testing.T, model func(*broker.Config)) {
	path := filepath.Join(t.TempDir(), "credentials.json")
	rewrite(t, path, crowdFile(1000))
	b := brokertest.Start(t, model, func(c *broker.Config) { c.CredentialsFile = path })
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	admin.newTopic("t")
	d := &disturbers{done: make(chan struct{})}
	d.start(changeQuotas(dial(t, b.Plain)))
	d.start(changeTopics(dial(t, b.Plain)))
	d.start(func(i int) {
		if err := os.WriteFile(path, []byte(crowdFile(1000+i)), 0o600); err != nil {
			t.Error(err)
		}
		b.Reload(credstore.TriggerSignal)
	})
	d.start(func(int) {
		for _, p := range []string{"/metrics", "/v1/quotas", "/v1/status", "/v1/quotas/resolve?user=alice"} {
			if status, _ := page(t, b, p); status != http.StatusOK {
				t.Errorf("%s: %d", p, status)
			}
		}
	})
	produceAndFetch(t, b)
	d.stop()
	admin.liftAll()
	awaitMuted(t, b, "produce", 0)
	awaitMuted(t, b, "fetch", 0)
	eventually(t, "connections are closed", func() bool {
		all := scrape(t, b)
		return all.sum("kaasd_connections", "listener", "PLAINTEXT") == 3 && all.sum("kaasd_connections", "listener", "SASL_PLAINTEXT") == 0
	})
	admin.mustProduce("t", batch(10))
}

func crowdFile(quota int) string {
	return fileQuota(fmt.Sprintf(`"producerMaxByteRatePerBroker":%d`, quota))
}

// changeQuotas sets and removes quotas of users, and of all that limits
// User:ANONYMOUS, most of which the user model refuses.
func changeQuotas(p *peer) func(i int) {
	p.clientID = "admin"
	entities := append(levels(), level{entity: entityOf(named(kafka.EntityUser, "alice"))})
	return func(i int) {
		rate := []float64{1, 1000, 1e6, 1e9}[rand.IntN(4)]
		o := ops(set(kafka.ProducerByteRate, rate), set(kafka.ConsumerByteRate, rate))
		if i%3 == 0 {
			o = ops(unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))
		}
		p.alterAll(1, false, message.AlterClientQuotasEntry{Entity: entities[rand.IntN(len(entities))].entity, Ops: o})
	}
}

func changeTopics(p *peer) func(int) {
	return func(int) {
		p.newTopic("fleeting")
		call[message.DeleteTopicsResponse](p, 5, &message.DeleteTopicsRequest{TimeoutMs: 30_000, TopicNames: []string{"fleeting"}})
	}
}

// produceAndFetch is what the crowd is for.
func produceAndFetch(t *testing.T, b *brokertest.Broker) {
	t.Helper()
	var clients sync.WaitGroup
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
}

// liftAll removes what changeQuotas may have set. What only the file gives
// cannot be removed.
func (p *peer) liftAll() {
	p.t.Helper()
	p.alter("alice", set(kafka.ProducerByteRate, 1), set(kafka.ConsumerByteRate, 1))
	p.alter("alice", unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))
	for _, l := range levels() {
		p.alterAll(1, false, message.AlterClientQuotasEntry{Entity: l.entity, Ops: ops(unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))})
	}
}
