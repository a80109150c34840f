package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
)

// fileQuota is a credentials file of two users, one with a quota.
func fileQuota(produce string) string {
	return `{"version":1,"users":[{"username":"alice","authType":"plain","plainPassword":"a-secret","quotas":{` + produce + `}},` +
		`{"username":"bob","authType":"plain","plainPassword":"b-secret"}]}`
}

// newFile puts a credentials file in force.
func newFile(t *testing.T, b *brokertest.Broker, path, content string) {
	t.Helper()
	rewrite(t, path, content)
	if r := b.Reload(credstore.TriggerSignal); r.Err != nil {
		t.Fatalf("reload: %v", r.Err)
	}
}

func startWithFile(t *testing.T, content string, changes ...func(*broker.Config)) (*brokertest.Broker, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	b := brokertest.Start(t, append(changes, func(c *broker.Config) { c.CredentialsFile = path })...)
	dial(t, b.Plain).newTopic("t")
	return b, path
}

// A new credentials file re-rates live buckets: a raise wakes, a removal
// forgives, and a user's quota is nobody else's.
func TestReloadReachesMutedConnections(t *testing.T) {
	for _, c := range []struct{ name, then string }{
		{"raise", `"producerMaxByteRatePerBroker":100000000`},
		{"removal", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, path := startWithFile(t, fileQuota(`"producerMaxByteRatePerBroker":100`))
			alice, bob := dialAs(t, b.SASL, "alice", "a-secret"), dialAs(t, b.SASL, "bob", "b-secret")
			alice.overdraw("t")
			if got := bob.mustProduce("t", batch(100_000)); got != 0 {
				t.Errorf("bob has no quota and was throttled for %v", got)
			}
			awaitMuted(t, b, "produce", 1)
			alice.send(0, &message.ApiVersionsRequest{})
			newFile(t, b, path, fileQuota(c.then))
			alice.read(&message.ApiVersionsResponse{})
		})
	}
}

// An override hides the file, also a new one, until its last key is removed.
func TestOverrideHidesTheFile(t *testing.T) {
	b, path := startWithFile(t, fileQuota(`"producerMaxByteRatePerBroker":100000000`))
	admin, alice := dial(t, b.Plain), dialAs(t, b.SASL, "alice", "a-secret")
	if got := alice.mustProduce("t", batch(100_000)); got != 0 {
		t.Fatalf("throttled for %v by the file", got)
	}
	admin.alter("alice", set(kafka.ProducerByteRate, 100))
	alice.overdraw("t")
	awaitMuted(t, b, "produce", 1)
	alice.send(0, &message.ApiVersionsRequest{})
	newFile(t, b, path, fileQuota(`"producerMaxByteRatePerBroker":200000000`))
	awaitMuted(t, b, "produce", 1)
	if got := admin.describe()["alice"][kafka.ProducerByteRate]; got != 100 {
		t.Errorf("the file shows through the override: %v", got)
	}
	admin.alter("alice", unset(kafka.ProducerByteRate))
	alice.read(&message.ApiVersionsResponse{})
	if got := admin.describe()["alice"][kafka.ProducerByteRate]; got != 200_000_000 {
		t.Errorf("after the override: %v", got)
	}
}

// The line of a reload says how many users' quotas are in force, how many of them
// changed, and how many an override hides.
func TestReloadTellsWhatIsHidden(t *testing.T) { bothModels(t, reloadTellsWhatIsHidden) }

func reloadTellsWhatIsHidden(t *testing.T, model func(*broker.Config)) {
	core, lines := observer.New(zapcore.InfoLevel)
	file := func(alice, bob, carol int) string {
		user := func(name string, rate int) string {
			return fmt.Sprintf(`{"username":%q,"authType":"plain","plainPassword":"pw","quotas":{"producerMaxByteRatePerBroker":%d}}`, name, rate)
		}
		return `{"users":[` + user("alice", alice) + `,` + user("bob", bob) + `,` + user("carol", carol) + `]}`
	}
	path := filepath.Join(t.TempDir(), "credentials.json")
	rewrite(t, path, file(1000, 2000, 3000))
	b := brokertest.StartLogged(t, zap.New(core), model, func(c *broker.Config) { c.CredentialsFile = path })
	dial(t, b.Plain).alter("alice", set(kafka.ProducerByteRate, 5))
	newFile(t, b, path, file(1001, 2001, 3000))
	all := lines.FilterMessage("credentials reloaded").All()
	if len(all) == 0 {
		t.Fatal("no line tells of the reload")
	}
	told := all[len(all)-1].ContextMap()
	for field, want := range map[string]int64{"quotas_in_force": 3, "quotas_applied": 2, "hidden_by_overrides": 1} {
		if told[field] != want {
			t.Errorf("%s is %v, want %d", field, told[field], want)
		}
	}
}

// Odd names are owners of their own.
func TestOddNamesHaveTheirOwnBuckets(t *testing.T) {
	names := []string{"CN=app1", "CN=app1,O=x", "a/b", "a%2Fb", "a b", "\u00fc", "*", "<default>"}
	file := `{"users":[`
	for i, name := range names {
		if i > 0 {
			file += ","
		}
		file += fmt.Sprintf(`{"username":%q,"authType":"plain","plainPassword":"pw"}`, name)
	}
	b, path := startWithFile(t, file+"]}")
	admin := dial(t, b.Plain)
	for _, name := range names {
		if got := dialAs(t, b.SASL, name, "pw").mustProduce("t", batch(100_000)); got != 0 {
			t.Errorf("%s: throttled for %v by a quota of another user", name, got)
		}
		admin.alter(name, set(kafka.ProducerByteRate, 100))
		dialAs(t, b.SASL, name, "pw").overdraw("t")
	}
	newFile(t, b, path, `{"users":[]}`)
	if got := admin.describe(); len(got) != len(names) {
		t.Errorf("an altered quota left with its user's credentials: %d of %d are there", len(got), len(names))
	}
}
