package broker_test

import (
	"fmt"
	"testing"
	"time"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// alterEntity changes the quotas of one entity, which must work.
func (p *peer) alterEntity(entity []message.AlterClientQuotasEntity, ops ...message.AlterClientQuotasOp) {
	p.t.Helper()
	for _, e := range p.alterAll(1, false, message.AlterClientQuotasEntry{Entity: entity, Ops: ops}) {
		if e.ErrorCode != kafka.NoError {
			p.t.Fatalf("alter quotas of %v: %s %s", echo(entity), e.ErrorCode, deref(e.ErrorMessage))
		}
	}
}

// level is an entity whose quota reaches the client "peer" of User:ANONYMOUS.
type level struct {
	name   string
	entity []message.AlterClientQuotasEntity
}

// levels are all of them, the strongest first.
func levels() []level {
	user, client := named(kafka.EntityUser, anonymous), named(kafka.EntityClientID, "peer")
	anyUser, anyClient := byDefault(kafka.EntityUser), byDefault(kafka.EntityClientID)
	return []level{
		{"user+client-id", entityOf(user, client)},
		{"user+client-default", entityOf(user, anyClient)},
		{"user", entityOf(user)},
		{"user-default+client-id", entityOf(anyUser, client)},
		{"user-default+client-default", entityOf(anyUser, anyClient)},
		{"user-default", entityOf(anyUser)},
		{"client-id", entityOf(client)},
		{"client-default", entityOf(anyClient)},
	}
}

// Whatever level limits a client: with the quota the limit is gone at once, on
// the connection that was muted by it, and nothing is left over.
func TestRemovalAtEveryLevel(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	admin.newTopic("t")
	for _, l := range levels() {
		t.Run(l.name, func(t *testing.T) {
			admin.t = t
			admin.alterEntity(l.entity, set(kafka.ProducerByteRate, 100))
			p := dial(t, b.Plain)
			p.overdraw("t")
			awaitMuted(t, b, "produce", 1)
			p.send(9, produceRequest("t", -1, batch(10)))
			admin.alterEntity(l.entity, unset(kafka.ProducerByteRate))
			var resp message.ProduceResponse
			p.read(&resp)
			if resp.ThrottleTimeMs != 0 {
				t.Errorf("throttled for %d ms without a quota", resp.ThrottleTimeMs)
			}
			if got := p.mustProduce("t", batch(1_000_000)); got != 0 {
				t.Errorf("then throttled for %v", got)
			}
			if got := scrape(t, b).sum("kaasd_quota_checks_total", "quota", "produce", "level", l.name, "outcome", "throttled"); got != 1 {
				t.Errorf("%v requests were throttled at level %s", got, l.name)
			}
		})
	}
}

// The strongest level that has a value for the key decides, and the next one
// takes over when it goes.
func TestLevelsInTheirOrder(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	admin.newTopic("t")
	for i, l := range levels() {
		admin.alterEntity(l.entity, set(kafka.ProducerByteRate, float64(10*(i+1))))
	}
	const size = 100_000
	for i, l := range levels() {
		// Each on a bucket of its own making: the burst of ten seconds and
		// the rate make the throttle.
		p := dial(t, b.Plain)
		rate := 10 * (i + 1)
		throttle := p.mustProduce("t", batch(size))
		least, most := time.Duration(size/rate-10)*time.Second, time.Duration((size+1000)/rate-10)*time.Second
		shared := i > 0 // a bucket may have been used by the level before
		if throttle < least || throttle > most && !shared {
			t.Errorf("%s: throttled for %v at %d B/s", l.name, throttle, rate)
		}
		admin.alterEntity(l.entity, unset(kafka.ProducerByteRate))
	}
	if got := dial(t, b.Plain).mustProduce("t", batch(size)); got != 0 {
		t.Errorf("without a quota throttled for %v", got)
	}
}

// sharing is who pays together with whom.
type sharing struct {
	name   string
	entity []message.AlterClientQuotasEntity
	// alice's client c1 is in debt; these are too, or are not.
	pays, free [][2]string // user, client id
}

// One bucket is shared by those who have the same owner, and by nobody else.
func TestWhoSharesABucket(t *testing.T) {
	user, client := named(kafka.EntityUser, "alice"), named(kafka.EntityClientID, "c1")
	anyUser, anyClient := byDefault(kafka.EntityUser), byDefault(kafka.EntityClientID)
	c1, c2 := [2]string{"alice", "c1"}, [2]string{"alice", "c2"}
	bob1, bob2 := [2]string{"bob", "c1"}, [2]string{"bob", "c2"}
	for _, c := range []sharing{
		{"user+client-id", entityOf(user, client), [][2]string{c1}, [][2]string{c2, bob1}},
		{"user+client-default", entityOf(user, anyClient), [][2]string{c1}, [][2]string{c2, bob1}},
		{"user", entityOf(user), [][2]string{c1, c2}, [][2]string{bob1}},
		{"user-default+client-id", entityOf(anyUser, client), [][2]string{c1}, [][2]string{c2, bob1}},
		{"user-default+client-default", entityOf(anyUser, anyClient), [][2]string{c1}, [][2]string{c2, bob1, bob2}},
		{"user-default", entityOf(anyUser), [][2]string{c1, c2}, [][2]string{bob1, bob2}},
		{"client-id", entityOf(client), [][2]string{c1, bob1}, [][2]string{c2, bob2}},
		{"client-default", entityOf(anyClient), [][2]string{c1, bob1}, [][2]string{c2, bob2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := startWithFile(t, fileQuota(""), kafkaModel)
			dial(t, b.Plain).alterEntity(c.entity, set(kafka.ProducerByteRate, 100))
			as := func(who [2]string) *peer {
				p := dial(t, b.SASL)
				p.clientID = who[1]
				if code := p.logIn(who[0], who[0][:1]+"-secret"); code != kafka.NoError {
					t.Fatal(code)
				}
				return p
			}
			as(c1).overdraw("t")
			for _, who := range c.pays {
				if got := as(who).mustProduce("t", batch(10)); got < longThrottle {
					t.Errorf("%v is throttled for %v", who, got)
				}
			}
			for _, who := range c.free {
				if got := as(who).mustProduce("t", batch(10)); got != 0 {
					t.Errorf("%v is throttled for %v by the debt of another", who, got)
				}
			}
		})
	}
}

// A level that has only one key leaves the others to the next.
func TestLevelsArePerKey(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	admin.newTopic("t")
	appendMany(t, admin, "t", 1, 20_000)
	admin.alterEntity(entityOf(named(kafka.EntityUser, anonymous), named(kafka.EntityClientID, "peer")), set(kafka.ProducerByteRate, 1e9))
	admin.alter(anonymous, set(kafka.ProducerByteRate, 100), set(kafka.ConsumerByteRate, 100))
	p := dial(t, b.Plain)
	if got := p.mustProduce("t", batch(100_000)); got != 0 {
		t.Errorf("throttled for %v by the user's quota", got)
	}
	if resp := call[message.FetchResponse](p, 11, fetchRequest("t", 0)); resp.ThrottleTimeMs < 60_000 {
		t.Errorf("fetch throttled for %d ms, the user's quota is 100 B/s", resp.ThrottleTimeMs)
	}
}

// A pair limits its client, and the user's other clients are not slowed by it,
// to produce and to fetch.
func TestSlowClientOfAFastUser(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	admin.newTopic("t")
	appendMany(t, admin, "t", 1, 100_000)
	admin.alter(anonymous, set(kafka.ProducerByteRate, 10<<20), set(kafka.ConsumerByteRate, 10<<20))
	admin.alterEntity(entityOf(named(kafka.EntityUser, anonymous), named(kafka.EntityClientID, "slow")),
		set(kafka.ProducerByteRate, 100), set(kafka.ConsumerByteRate, 100))
	as := func(client string) *peer {
		p := dial(t, b.Plain)
		p.clientID = client
		return p
	}
	as("slow").overdraw("t")
	if resp := call[message.FetchResponse](as("slow"), 11, fetchRequest("t", 0)); resp.ThrottleTimeMs < int32(longThrottle.Milliseconds()) {
		t.Errorf("fetch of the slow one is throttled for %d ms", resp.ThrottleTimeMs)
	}
	fast := as("fast")
	for range 5 {
		if got := fast.mustProduce("t", batch(900_000)); got != 0 {
			t.Errorf("the fast one is throttled for %v", got)
		}
	}
	if resp := call[message.FetchResponse](fast, 11, fetchRequest("t", 0)); resp.ThrottleTimeMs != 0 || len(resp.Responses) == 0 {
		t.Errorf("fetch of the fast one: %d topics, throttled for %d ms", len(resp.Responses), resp.ThrottleTimeMs)
	}
}

// Who has no client id, or an empty one, falls under the defaults, in one
// bucket.
func TestNoClientIDIsNoEscape(t *testing.T) {
	for i, entity := range [][]message.AlterClientQuotasEntity{
		entityOf(byDefault(kafka.EntityClientID)),
		entityOf(named(kafka.EntityUser, anonymous), byDefault(kafka.EntityClientID)),
		entityOf(byDefault(kafka.EntityUser), byDefault(kafka.EntityClientID)),
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b := brokertest.Start(t, kafkaModel)
			admin := dial(t, b.Plain)
			admin.newTopic("t")
			admin.alterEntity(entity, set(kafka.ProducerByteRate, 100))
			empty, none := dial(t, b.Plain), dial(t, b.Plain)
			empty.clientID = ""
			none.clientID, none.anonymous = "", true
			empty.overdraw("t")
			if got := none.mustProduce("t", batch(10)); got < longThrottle {
				t.Errorf("throttled for %v", got)
			}
			if got := admin.mustProduce("t", batch(10)); got != 0 {
				t.Errorf("a client with an id is throttled for %v by those without", got)
			}
		})
	}
}

// Names are taken byte for byte, in the quota and at the log-in, and what was
// altered stays when a user leaves the file.
func TestOddNamesAreLimited(t *testing.T) {
	names := []string{"CN=app1", "CN=app1,O=x", "a/b", "a%2Fb", "a b", "\u00fc", "*", "<default>"}
	var accounts []account
	for _, name := range names {
		accounts = append(accounts, account{name, "pw", kafka.ScramUnknown})
	}
	b, path := startWithFile(t, credentials(t, accounts...), kafkaModel)
	admin := dial(t, b.Plain)
	for i, name := range names {
		admin.alter(name, set(kafka.ProducerByteRate, float64(10*(i+1))))
	}
	for i, name := range names {
		const size = 100_000
		rate := 10 * (i + 1)
		got := dialAs(t, b.SASL, name, "pw").mustProduce("t", batch(size))
		least, most := time.Duration(size/rate-10)*time.Second, time.Duration((size+1000)/rate-10)*time.Second
		if got < least || got > most {
			t.Errorf("%q at %d B/s is throttled for %v, want %v to %v", name, rate, got, least, most)
		}
	}
	newFile(t, b, path, credentials(t, accounts[1:]...))
	if got := admin.describe(match(kafka.EntityUser, exact, names[0]))[names[0]]; got[kafka.ProducerByteRate] != 10 {
		t.Errorf("the quota went with the user: %v", got)
	}
	admin.alter(names[1], unset(kafka.ProducerByteRate))
	if got := dialAs(t, b.SASL, names[1], "pw").mustProduce("t", batch(100)); got != 0 {
		t.Errorf("without its quota %q is throttled for %v", names[1], got)
	}
}

// Two quotas on one request: the larger throttle is announced, the connection
// is muted once, and the other quota tells nothing of it.
func TestTheLargerThrottleIsTheOne(t *testing.T) {
	for _, c := range []struct {
		name            string
		bytesPerSecond  float64
		larger, smaller string
	}{{"bytes", 100, "produce", "request"}, {"time", 100_000, "request", "produce"}} {
		t.Run(c.name, func(t *testing.T) {
			b := brokertest.Start(t, kafkaModel, func(c *broker.Config) { c.Quota.Windows.Num = 2 })
			admin := dial(t, b.Plain)
			admin.clientID = "admin"
			admin.newTopic("t")
			limited := entityOf(named(kafka.EntityClientID, "peer"))
			admin.alterEntity(limited, set(kafka.ProducerByteRate, c.bytesPerSecond), set(kafka.RequestPercentage, 1e-6))
			p := dial(t, b.Plain)
			throttle := p.mustProduce("t", batch(130_000)) // 0.3 s at 100 kB/s with a burst of one second
			if c.larger == "request" && throttle != time.Second || c.larger == "produce" && throttle < longThrottle {
				t.Errorf("throttled for %v", throttle)
			}
			all := scrape(t, b)
			for quota, want := range map[string]float64{c.larger: 1, c.smaller: 0} {
				if got := all.sum("kaasd_quota_entity_throttled_requests_total", "quota", quota, "client_id", "peer"); got != want {
					t.Errorf("%v requests are told as throttled by %s", got, quota)
				}
				if got := all.sum("kaasd_quota_checks_total", "quota", quota, "outcome", "throttled"); got != 1 {
					t.Errorf("%v decisions of %s were to throttle", got, quota)
				}
			}
			admin.alterEntity(limited, unset(kafka.ProducerByteRate), unset(kafka.RequestPercentage))
			p.versions()
		})
	}
}

// A tiny request quota mutes for a window at most, whatever is owed, and every
// API pays for its work.
func TestRequestQuota(t *testing.T) {
	b := brokertest.Start(t, kafkaModel)
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	limited := entityOf(named(kafka.EntityClientID, "peer"))
	admin.alterEntity(limited, set(kafka.RequestPercentage, 1e-6))
	for name, ask := range map[string]func(p *peer) int32{
		"Metadata": func(p *peer) int32 {
			return call[message.MetadataResponse](p, 12, &message.MetadataRequest{}).ThrottleTimeMs
		},
		"DescribeClientQuotas": func(p *peer) int32 { return p.describeAll(1, false).ThrottleTimeMs },
		"ApiVersions": func(p *peer) int32 {
			return call[message.ApiVersionsResponse](p, 3, &message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}).ThrottleTimeMs
		},
		"Produce": func(p *peer) int32 {
			_, throttle := p.produce("none", batch(10))
			return int32(throttle.Milliseconds())
		},
	} {
		if got := ask(dial(t, b.Plain)); got != 1000 {
			t.Errorf("%s is throttled for %d ms, want 1000", name, got)
		}
	}
	awaitMuted(t, b, "request", 4)
	admin.alterEntity(limited, unset(kafka.RequestPercentage))
	awaitMuted(t, b, "request", 0)
	if got := scrape(t, b).sum("kaasd_quota_throttle_seconds", "quota", "request"); got != 4 {
		t.Errorf("%v throttles are told", got)
	}
}

// Who may not write is told so for each partition, and throttled: the bytes
// were read.
func TestRefusedBytesAreCharged(t *testing.T) {
	b, _ := startWithFile(t, credentials(t, alice, bob), kafkaModel, func(c *broker.Config) {
		c.Access = broker.Access{Enabled: true, SuperUsers: []string{"User:" + anonymous, "User:alice"}}
	})
	dialAs(t, b.SASL, alice.name, alice.password).alter(bob.name, set(kafka.ProducerByteRate, 100))
	answer, throttle := dialAs(t, b.SASL, bob.name, bob.password).produce("t", batch(100_000))
	if answer.ErrorCode != kafka.TopicAuthorizationFailed || throttle < longThrottle {
		t.Errorf("got %s and a throttle of %v", answer.ErrorCode, throttle)
	}
}

// With one window a full bucket holds what that is worth: what comes on top is
// owed, and everything comes through.
func TestOneWindow(t *testing.T) {
	b := brokertest.Start(t, kafkaModel, func(c *broker.Config) { c.Quota.Windows.Num, c.Quota.Windows.MutationNum = 1, 1 })
	admin := dial(t, b.Plain)
	admin.clientID = "admin"
	admin.newTopic("t")
	want := appendMany(t, admin, "t", 3, 1000)
	for _, l := range levels() {
		admin.alterEntity(l.entity, set(kafka.ProducerByteRate, 1e5), set(kafka.ConsumerByteRate, 1e5), set(kafka.RequestPercentage, 100), set(kafka.ControllerMutationRate, 1000))
	}
	admin.alterEntity(entityOf(byDefault(kafka.EntityIP)), set(kafka.ConnectionCreationRate, 1000))
	p := dial(t, b.Plain)
	if got := p.mustProduce("t", batch(99_000)); got != 0 {
		t.Errorf("99 kB at 100 kB/s are throttled for %v", got)
	}
	if got := p.mustProduce("t", batch(51_000)); got == 0 || got > 510*ms { // less what was earned meanwhile
		t.Errorf("51 kB more are throttled for %v", got)
	}
	want = append(want, 3, 4)
	var got []int64
	for throttled := 0; len(got) < len(want); {
		resp := call[message.FetchResponse](p, 11, fetchRequest("t", int64(len(got))))
		if resp.ThrottleTimeMs > 0 {
			throttled++
		}
		if throttled > 100 {
			t.Fatalf("%d records after %d throttled fetches", len(got), throttled)
		}
		for _, topic := range resp.Responses {
			for _, b := range batches(t, topic.Partitions[0].Records.Bytes) {
				got = append(got, b.BaseOffset())
			}
		}
	}
	if codes, _ := p.create(7, false, map[string]int32{"made": 3}, "made"); codes[0] != kafka.NoError {
		t.Errorf("a topic: %s", codes[0])
	}
}
