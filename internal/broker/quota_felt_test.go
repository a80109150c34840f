package broker_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// longThrottle is less than what an overdraw is announced, and far longer than
// any test waits: what ends such a mute is not the clock.
const longThrottle = 15 * time.Minute

const anonymous = "ANONYMOUS"

// bothModels runs a test of what the models have in common.
func bothModels(t *testing.T, test func(t *testing.T, model func(*broker.Config))) {
	t.Helper()
	for _, model := range []func(*broker.Config){userModel, kafkaModel} {
		c := broker.Default()
		model(&c)
		t.Run(c.Quota.Model, func(t *testing.T) { test(t, model) })
	}
}

func userModel(c *broker.Config)  { c.Quota.Model = "user" }
func kafkaModel(c *broker.Config) { c.Quota.Model = "kafka" }

// overdraw brings the bucket of an account with 100 B/s into debt for more than
// 16 minutes, and the connection with it.
func (p *peer) overdraw(topic string) time.Duration {
	p.t.Helper()
	throttle := p.mustProduce(topic, batch(100_000))
	if throttle < longThrottle {
		p.t.Fatalf("100 kB at 100 B/s were throttled for %v", throttle)
	}
	return throttle
}

// felt is a broker with a topic, an account that is limited to 100 B/s in both
// directions, and a connection that may change that.
func felt(t *testing.T, changes ...func(*broker.Config)) (b *brokertest.Broker, admin *peer) {
	t.Helper()
	b = brokertest.Start(t, changes...)
	admin = dial(t, b.Plain)
	admin.newTopic("t")
	admin.alter(anonymous, set(kafka.ProducerByteRate, 100), set(kafka.ConsumerByteRate, 100))
	return b, admin
}

func TestRaiseWakesAMutedConnection(t *testing.T) { bothModels(t, raiseWakesAMutedConnection) }

func raiseWakesAMutedConnection(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	p := dial(t, b.Plain)
	p.overdraw("t")
	awaitMuted(t, b, "produce", 1)
	p.send(0, &message.ApiVersionsRequest{})
	admin.alter(anonymous, set(kafka.ProducerByteRate, 100e6))
	p.read(&message.ApiVersionsResponse{})
	awaitMuted(t, b, "produce", 0)
}

// Removal forgives the debt of those who are muted and of those who come
// later; a quota that is set again starts with a full bucket.
func TestRemovalForgives(t *testing.T) { bothModels(t, removalForgives) }

func removalForgives(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	p, other := dial(t, b.Plain), dial(t, b.Plain)
	p.overdraw("t")
	awaitMuted(t, b, "produce", 1)
	p.send(9, produceRequest("t", -1, batch(10)))
	admin.alter(anonymous, unset(kafka.ProducerByteRate), unset(kafka.ConsumerByteRate))
	var resp message.ProduceResponse
	p.read(&resp)
	if resp.ThrottleTimeMs != 0 {
		t.Errorf("throttled for %d ms without a quota", resp.ThrottleTimeMs)
	}
	if got := other.mustProduce("t", batch(1_000_000)); got != 0 {
		t.Errorf("another connection is throttled for %v", got)
	}
	admin.alter(anonymous, set(kafka.ProducerByteRate, 10_000))
	if got := other.mustProduce("t", batch(9_000)); got != 0 {
		t.Errorf("a new bucket is not full: throttled for %v", got)
	}
}

// A lower limit keeps a mute that was announced, and judges the next request.
func TestLoweringKeepsTheMute(t *testing.T) {
	b, admin := felt(t)
	admin.alter(anonymous, unset(kafka.ProducerByteRate)) // so that the next one starts with a full bucket
	admin.alter(anonymous, set(kafka.ProducerByteRate, 100_000))
	p := dial(t, b.Plain)
	sent := time.Now()
	throttle := p.mustProduce("t", batch(125_000))
	if throttle < 200*ms || throttle > 300*ms {
		t.Fatalf("125 kB at 100 kB/s were throttled for %v", throttle)
	}
	admin.alter(anonymous, set(kafka.ProducerByteRate, 1))
	p.versions()
	if took := time.Since(sent); took < throttle-ms { // what is announced is rounded up
		t.Errorf("the mute of %v ended after %v", throttle, took)
	}
	if got := p.mustProduce("t", batch(10)); got < time.Second {
		t.Errorf("throttled for %v at 1 B/s with a debt of kilobytes", got)
	}
}

// Connections of one account share its debt, also new ones: who reconnects
// does not escape, and who produces is not thereby kept from fetching.
func TestConnectionsShareTheDebt(t *testing.T) { bothModels(t, connectionsShareTheDebt) }

func connectionsShareTheDebt(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	first, second := dial(t, b.Plain), dial(t, b.Plain)
	second.versions()
	debt := first.overdraw("t")
	if got := second.mustProduce("t", batch(10)); got < longThrottle {
		t.Errorf("the second connection was throttled for %v, the first for %v", got, debt)
	}
	_ = first.Close()
	_ = second.Close()
	third := dial(t, b.Plain)
	fetched := call[message.FetchResponse](third, 11, fetchRequest("none", 0))
	if fetched.ThrottleTimeMs != 0 {
		t.Errorf("the fetch pays %d ms for what was produced", fetched.ThrottleTimeMs)
	}
	if got := third.mustProduce("t", batch(10)); got < longThrottle {
		t.Errorf("a new connection was throttled for %v", got)
	}
	admin.alter("somebody else", set(kafka.ProducerByteRate, 100e6))
	awaitMuted(t, b, "produce", 1) // the two that left are no longer counted
	eventually(t, "the closed connections are noticed", func() bool {
		return scrape(t, b).sum("kaasd_connections", "listener", "PLAINTEXT") == 2
	})
}

// A bucket in debt answers fetches without topics, keeps their session, and
// loses no record.
func TestThrottledFetchIsEmpty(t *testing.T) { bothModels(t, throttledFetchIsEmpty) }

func throttledFetchIsEmpty(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	p, other := dial(t, b.Plain), dial(t, b.Plain)
	first := fetchRequest("t", 0)
	first.SessionEpoch, first.MaxWaitMs = 0, 0
	opened := call[message.FetchResponse](p, 12, first)
	if opened.SessionID == 0 || opened.ErrorCode != 0 || opened.ThrottleTimeMs != 0 {
		t.Fatalf("got session %d, error %s, throttle %d", opened.SessionID, opened.ErrorCode, opened.ThrottleTimeMs)
	}
	admin.alter(anonymous, unset(kafka.ProducerByteRate))
	want := appendMany(t, admin, "t", 5, 20_000)

	// The first batch is larger than the balance: handed out whole, the rest
	// is debt.
	resp := call[message.FetchResponse](other, 11, fetchRequest("t", 0))
	if n := len(batches(t, resp.Responses[0].Partitions[0].Records.Bytes)); n != 1 || resp.ThrottleTimeMs < 60_000 {
		t.Fatalf("got %d batches and a throttle of %d ms", n, resp.ThrottleTimeMs)
	}

	again := &message.FetchRequest{ReplicaID: -1, MaxBytes: 50 << 20, MinBytes: 1, MaxWaitMs: 30_000, SessionID: opened.SessionID, SessionEpoch: 1}
	empty := call[message.FetchResponse](p, 12, again)
	if empty.SessionID != opened.SessionID || empty.ErrorCode != 0 || len(empty.Responses) != 0 || empty.ThrottleTimeMs < 60_000 {
		t.Fatalf("in debt: session %d of %d, error %s, %d topics, throttle %d ms", empty.SessionID, opened.SessionID, empty.ErrorCode, len(empty.Responses), empty.ThrottleTimeMs)
	}
	awaitMuted(t, b, "fetch", 2)
	admin.alter(anonymous, set(kafka.ConsumerByteRate, 100e6))
	var got []int64
	for again.SessionEpoch = 2; len(got) < len(want); again.SessionEpoch++ {
		resp := call[message.FetchResponse](p, 12, again)
		if resp.SessionID != opened.SessionID || resp.ErrorCode != 0 {
			t.Fatalf("session %d, error %s", resp.SessionID, resp.ErrorCode)
		}
		for _, b := range batches(t, resp.Responses[0].Partitions[0].Records.Bytes) {
			got = append(got, b.BaseOffset())
		}
		again.Topics = fetchRequest("t", int64(len(got))).Topics // where a client goes on
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// appendMany appends batches of one record and gives their offsets.
func appendMany(t *testing.T, p *peer, topic string, n, size int) []int64 {
	t.Helper()
	var offsets []int64
	for range n {
		answer, _ := p.produce(topic, batch(size))
		if answer.ErrorCode != kafka.NoError {
			t.Fatalf("produce: %s", answer.ErrorCode)
		}
		offsets = append(offsets, answer.BaseOffset)
	}
	return offsets
}

// A throttled first fetch of a session has none.
func TestThrottledFirstFetchHasNoSession(t *testing.T) {
	bothModels(t, throttledFirstFetchHasNoSession)
}

func throttledFirstFetchHasNoSession(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	admin.alter(anonymous, unset(kafka.ProducerByteRate))
	appendMany(t, admin, "t", 1, 20_000)
	if resp := call[message.FetchResponse](dial(t, b.Plain), 11, fetchRequest("t", 0)); resp.ThrottleTimeMs == 0 {
		t.Fatal("the large batch was not throttled")
	}
	first := fetchRequest("t", 0)
	first.SessionEpoch = 0
	resp := call[message.FetchResponse](dial(t, b.Plain), 12, first)
	if resp.SessionID != 0 || resp.ErrorCode != 0 || len(resp.Responses) != 0 || resp.ThrottleTimeMs == 0 {
		t.Errorf("got %+v", resp)
	}
}

// The answer to a produce request in debt comes at once, in every version; a
// request that was sent with it waits, and its answer comes behind.
func TestEveryProduceVersionIsMuted(t *testing.T) { bothModels(t, everyProduceVersionIsMuted) }

func everyProduceVersionIsMuted(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	id := topicID(admin, "t")
	for version := int16(3); version <= 13; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			p := dial(t, b.Plain)
			req := produceRequest("t", 1, batch(100_000))
			req.TopicData[0].TopicID = id
			p.send(version, req)
			p.send(version, req)
			var first, second message.ProduceResponse
			p.read(&first)
			if first.ThrottleTimeMs < int32(longThrottle.Milliseconds()) || first.Responses[0].PartitionResponses[0].ErrorCode != 0 {
				t.Errorf("got %+v", first)
			}
			awaitMuted(t, b, "produce", 1)
			admin.alter(anonymous, unset(kafka.ProducerByteRate))
			p.read(&second)
			if second.ThrottleTimeMs != 0 || second.Responses[0].PartitionResponses[0].BaseOffset != first.Responses[0].PartitionResponses[0].BaseOffset+1 {
				t.Errorf("got %+v", second)
			}
			admin.alter(anonymous, set(kafka.ProducerByteRate, 100))
		})
	}
}

func topicID(p *peer, name string) kafka.TopicID {
	p.t.Helper()
	resp := call[message.MetadataResponse](p, 12, &message.MetadataRequest{Topics: []message.MetadataRequestTopic{{Name: &name}}})
	return resp.Topics[0].TopicID
}

// Nothing is written for acks=0, and the connection is muted all the same; the
// next answer is that to the next request.
func TestUnansweredProduceIsMuted(t *testing.T) { bothModels(t, unansweredProduceIsMuted) }

func unansweredProduceIsMuted(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	p := dial(t, b.Plain)
	for range 3 {
		p.send(9, produceRequest("t", 0, batch(50_000)))
		p.forget()
	}
	p.send(0, &message.ApiVersionsRequest{})
	awaitMuted(t, b, "produce", 1)
	if got := endOffset(admin, "t"); got != 1 {
		t.Errorf("%d batches were taken before the mute", got)
	}
	admin.alter(anonymous, unset(kafka.ProducerByteRate))
	p.read(&message.ApiVersionsResponse{})
	if got := endOffset(admin, "t"); got != 3 {
		t.Errorf("the topic ends at %d, want 3", got)
	}
}

func endOffset(p *peer, topic string) int64 {
	p.t.Helper()
	return offsetAt(p, topic, -1).Offset
}

func offsetAt(p *peer, topic string, timestamp int64) message.ListOffsetsResponsePartition {
	p.t.Helper()
	resp := call[message.ListOffsetsResponse](p, 7, &message.ListOffsetsRequest{ReplicaID: -1, Topics: []message.ListOffsetsTopic{{
		Name: topic, Partitions: []message.ListOffsetsPartition{{CurrentLeaderEpoch: -1, Timestamp: timestamp}},
	}}})
	return resp.Topics[0].Partitions[0]
}

// Every byte of a request counts, whatever became of its records and whatever
// the client calls itself.
func TestEveryRequestIsCharged(t *testing.T) { bothModels(t, everyRequestIsCharged) }

func everyRequestIsCharged(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	for _, c := range []struct {
		name  string
		topic string
		bend  func(*peer)
		code  kafka.Code
	}{
		{"no client id", "t", func(p *peer) { p.anonymous, p.clientID = true, "" }, kafka.NoError},
		{"empty client id", "t", func(p *peer) { p.clientID = "" }, kafka.NoError},
		{"client id in UTF-8", "t", func(p *peer) { p.clientID = "\u00fc" }, kafka.NoError},
		{"client id that is not UTF-8", "t", func(p *peer) { p.clientID = "\xff\xfea\"\n" }, kafka.NoError},
		{"long client id", "t", func(p *peer) { p.clientID = string(make([]byte, 300)) }, kafka.NoError},
		{"unknown topic", "none", func(*peer) {}, kafka.UnknownTopicOrPartition},
	} {
		t.Run(c.name, func(t *testing.T) {
			admin.alter(anonymous, unset(kafka.ProducerByteRate))
			admin.alter(anonymous, set(kafka.ProducerByteRate, 100))
			p := dial(t, b.Plain)
			c.bend(p)
			answer, throttle := p.produce(c.topic, batch(100_000))
			if answer.ErrorCode != c.code || throttle < longThrottle {
				t.Errorf("got %s and a throttle of %v", answer.ErrorCode, throttle)
			}
		})
	}
}

// The announced throttle is the whole debt, and only the field bounds it.
func TestThrottleIsBoundByTheFieldOnly(t *testing.T) { bothModels(t, throttleIsBoundByTheFieldOnly) }

func throttleIsBoundByTheFieldOnly(t *testing.T, model func(*broker.Config)) {
	b, admin := felt(t, model)
	admin.alter(anonymous, set(kafka.ProducerByteRate, 1))
	var last time.Duration
	for range 4 {
		last = dial(t, b.Plain).mustProduce("t", batch(1_000_000))
	}
	if last != math.MaxInt32*ms {
		t.Errorf("4 MB at 1 B/s were throttled for %v", last)
	}
}

// The books balance: what was charged is never more than the burst and the rate
// over the time until the last throttle has passed.
func TestRateOfManyConnections(t *testing.T) { bothModels(t, rateOfManyConnections) }

func rateOfManyConnections(t *testing.T, model func(*broker.Config)) {
	const rate = 2_000_000
	b, admin := felt(t, model, func(c *broker.Config) { c.Quota.Windows.Num = 2 }) // one second's worth is a burst
	admin.alter(anonymous, set(kafka.ProducerByteRate, rate))
	type tally struct {
		charged int
		end     time.Time // when the last throttle has passed
	}
	start, sums := time.Now(), make(chan tally)
	for range 5 {
		p := dial(t, b.Plain)
		go func() {
			var sum tally
			for range 10 {
				sum.charged += p.send(9, produceRequest("t", 1, batch(100_000)))
				var resp message.ProduceResponse
				p.read(&resp)
				sum.end = time.Now().Add(time.Duration(resp.ThrottleTimeMs) * ms)
			}
			sums <- sum
		}()
	}
	all := tally{end: start}
	for range 5 {
		one := <-sums
		all.charged += one.charged
		if one.end.After(all.end) {
			all.end = one.end
		}
	}
	if most := rate + rate*all.end.Sub(start).Seconds(); float64(all.charged) > most {
		t.Errorf("%d bytes were charged in %v, at most %.0f may be", all.charged, all.end.Sub(start), most)
	}
	if got := scrape(t, b).sum("kaasd_quota_entity_bytes_total", "quota", "produce", "user", anonymous); got != float64(all.charged) {
		t.Errorf("%v bytes are told, %d were sent", got, all.charged)
	}
}

// Records come back whole through both quotas, also for clients that expect the
// broker to wait before it answers.
func TestThrottledClientsLoseNothing(t *testing.T) {
	for _, c := range clientGenerations() {
		t.Run(c.name, func(t *testing.T) {
			b := brokertest.Start(t)
			dial(t, b.Plain).alter(anonymous, set(kafka.ProducerByteRate, 1_000_000), set(kafka.ConsumerByteRate, 1_000_000))
			client := newClient(t, b.Plain, c.options...)
			produceN(t, client, "lossless", 1500, 1000)
			consumeN(t, b.Plain, "lossless", 1500, c.options...)
			if got := scrape(t, b).sum("kaasd_quota_entity_throttled_requests_total", "user", anonymous); got == 0 {
				t.Error("nothing was throttled")
			}
		})
	}
}
