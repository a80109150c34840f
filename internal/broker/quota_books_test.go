package broker_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// charged is what an account was charged so far.
func charged(t *testing.T, b *brokertest.Broker, quota string) float64 {
	t.Helper()
	return scrape(t, b).sum("kaasd_quota_entity_bytes_total", "quota", quota, "user", anonymous)
}

// A fetch is charged its answer, header and body; one that is answered empty
// because of a debt is charged nothing, nor is one that is parked.
func TestFetchIsChargedItsAnswer(t *testing.T) {
	b, admin := felt(t)
	admin.alter(anonymous, unset(kafka.ProducerByteRate))
	admin.newTopic("idle")
	appendMany(t, admin, "t", 1, 20_000)
	parked := dial(t, b.Plain)
	wait := fetchRequest("idle", 0)
	wait.MaxWaitMs = 600_000
	parked.send(12, wait)

	p := dial(t, b.Plain)
	p.raw(p.frame(11, fetchRequest("t", 0)))
	answer := p.readFrame()
	if got := charged(t, b, "fetch"); got != float64(len(answer)) {
		t.Errorf("%v bytes were charged for an answer of %d", got, len(answer))
	}
	other := dial(t, b.Plain)
	if resp := call[message.FetchResponse](other, 11, fetchRequest("t", 0)); resp.ThrottleTimeMs == 0 || len(resp.Responses) != 0 {
		t.Fatalf("in debt: %+v", resp)
	}
	if got := charged(t, b, "fetch"); got != float64(len(answer)) {
		t.Errorf("the empty answer was charged: %v bytes in all", got)
	}
}

// A parked fetch holds nothing of the balance.
func TestParkedFetchTakesNothing(t *testing.T) {
	b, admin := felt(t)
	admin.alter(anonymous, unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))
	admin.newTopic("idle")
	appendMany(t, admin, "t", 1, 5000)
	admin.alter(anonymous, set(kafka.ConsumerByteRate, 10_000))
	for range 5 {
		wait := fetchRequest("idle", 0)
		wait.MaxWaitMs = 600_000
		dial(t, b.Plain).send(12, wait)
	}
	resp := call[message.FetchResponse](dial(t, b.Plain), 11, fetchRequest("t", 0))
	if resp.ThrottleTimeMs != 0 || len(resp.Responses) != 1 || len(batches(t, resp.Responses[0].Partitions[0].Records.Bytes)) != 1 {
		t.Errorf("beside parked fetches: %d topics, throttle %d ms", len(resp.Responses), resp.ThrottleTimeMs)
	}
}

// request_percentage is kept and told, and throttles nobody.
func TestRequestPercentageIsNotEnforced(t *testing.T) {
	b, admin := felt(t)
	admin.alter(anonymous, unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate), set(kafka.RequestPercentage, 1e-7))
	p := dial(t, b.Plain)
	for range 20 {
		if got := p.mustProduce("t", batch(100_000)); got != 0 {
			t.Fatalf("throttled for %v", got)
		}
	}
	if resp := call[message.FetchResponse](p, 12, fetchRequest("t", 0)); resp.ThrottleTimeMs != 0 {
		t.Errorf("a fetch is throttled for %d ms", resp.ThrottleTimeMs)
	}
}

// The idle limit does not close a connection that the broker does not read.
func TestMutedConnectionsAreNotIdle(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, func(c *broker.Config) { c.Network.IdleTimeout = 500 * ms })
	setUp := dial(t, b.Plain)
	setUp.newTopic("t")
	setUp.alter(anonymous, set(kafka.ProducerByteRate, 100))
	muted := dial(t, b.Plain)
	muted.overdraw("t")
	for range 2 { // idle limits of others pass meanwhile
		dial(t, b.Plain).mustEnd()
	}
	muted.send(0, &message.ApiVersionsRequest{})
	dial(t, b.Plain).alter(anonymous, unset(kafka.ProducerByteRate))
	muted.read(&message.ApiVersionsResponse{})
}

// Batches that are larger than a second's worth are handed out one by one, and
// a consumer gets to the end.
func TestLargeBatchesDoNotStarve(t *testing.T) {
	t.Parallel()
	b, admin := felt(t)
	admin.alter(anonymous, unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))
	client := newClient(t, b.Plain, kgo.ProducerBatchCompression(kgo.NoCompression()))
	produceN(t, client, "large", 5, 400_000)
	admin.alter(anonymous, set(kafka.ConsumerByteRate, 300_000))
	start := time.Now()
	consumeN(t, b.Plain, "large", 5)
	if took := time.Since(start); took < 4*time.Second {
		t.Errorf("2 MB at 300 kB/s were read in %v", took)
	}
}

// Every entry of an alteration is a line: who, from where, which entity, old
// and new values or the reason.
func TestAlterationsAreLogged(t *testing.T) {
	core, lines := observer.New(zapcore.InfoLevel)
	b := brokertest.StartLogged(t, zap.New(core), withFile(t, credentials(t, alice)))
	p := dialAs(t, b.SASL, "alice", "a-secret")
	p.alter("bob", set(kafka.ProducerByteRate, 1000))
	p.alter("bob", set(kafka.ProducerByteRate, 2000), set(kafka.RequestPercentage, 12.5))
	p.alterAll(1, false, entry("bob", set("bogus", 1)), entry("carol", set(kafka.ConsumerByteRate, 7)))
	p.alter("bob", unset(kafka.ProducerByteRate))
	before := lines.Len()
	p.alterAll(1, true, entry("bob", set(kafka.ProducerByteRate, 9)))
	if lines.Len() > before+1 {
		t.Errorf("an alteration that was only checked is %d lines", lines.Len()-before)
	}
	var told []string
	for _, l := range lines.All() {
		text, err := json.Marshal(l.ContextMap())
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, l.Message+" "+string(text))
	}
	peer := p.LocalAddr().String()
	for _, words := range [][]string{
		{"quota", "alice", peer, "bob", "1000"},
		{"quota", "alice", peer, "bob", "1000", "2000", "12.5"},
		{"quota", "alice", peer, "bob", "bogus"},
		{"quota", "alice", peer, "carol", "7"},
	} {
		found := false
		for _, line := range told {
			found = found || containsAll(line, words)
		}
		if !found {
			t.Errorf("no line says %q:\n%s", words, strings.Join(told, "\n"))
		}
	}
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Key 50 is what kafka-configs asks after the quotas of users: who has
// SCRAM credentials, never what they are.
func TestScramUsersAreDescribed(t *testing.T) {
	b, _ := startWithFile(t, credentials(t, alice, carol, account{"dave", "d-secret", kafka.ScramSHA256}))
	p := dial(t, b.Plain)
	describe := func(names ...string) map[string]kafka.Code {
		req := &message.DescribeUserScramCredentialsRequest{}
		for _, n := range names {
			req.Users = append(req.Users, message.DescribeUserScramCredentialsUser{Name: n})
		}
		resp := call[message.DescribeUserScramCredentialsResponse](p, 0, req)
		if resp.ErrorCode != kafka.NoError {
			t.Fatalf("%v: %s", names, resp.ErrorCode)
		}
		told := map[string]kafka.Code{}
		for _, r := range resp.Results {
			told[r.User] = r.ErrorCode
			for _, c := range r.CredentialInfos {
				if want := map[string]int8{"dave": 1, "carol": 2}[r.User]; c.Mechanism != want || c.Iterations < 4096 {
					t.Errorf("%s: mechanism %d, %d iterations", r.User, c.Mechanism, c.Iterations)
				}
			}
		}
		return told
	}
	if got := describe(); len(got) != 2 || got["carol"] != 0 || got["dave"] != 0 {
		t.Errorf("everybody: %v", got)
	}
	const noSuch = kafka.Code(91) // RESOURCE_NOT_FOUND
	if got := describe("carol", "alice", "nobody"); len(got) != 3 || got["carol"] != 0 || got["alice"] != noSuch || got["nobody"] != noSuch {
		t.Errorf("by name: %v", got)
	}
}
