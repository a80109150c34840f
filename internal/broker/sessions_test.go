package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
)

var (
	alice = account{"alice", "a-secret", kafka.ScramUnknown}
	bob   = account{"bob", "b-secret", kafka.ScramUnknown}
	carol = account{"carol", "c-secret", kafka.ScramSHA512}
)

// Who leaves the file leaves the broker: at rest, while a fetch is parked and
// while muted; the others stay.
func TestRemovedUsersAreExpelled(t *testing.T) {
	b, path := startWithFile(t, credentials(t, alice, bob))
	admin := dial(t, b.Plain)
	admin.alter("alice", set(kafka.ProducerByteRate, 100))
	stays := dialAs(t, b.SASL, "bob", "b-secret")
	rests, parks, muted := dialAs(t, b.SASL, "alice", "a-secret"), dialAs(t, b.SASL, "alice", "a-secret"), dialAs(t, b.SASL, "alice", "a-secret")
	fetch := fetchRequest("t", 0)
	fetch.MaxWaitMs, fetch.MinBytes = 600_000, 50<<20
	parks.send(12, fetch)
	muted.overdraw("t")
	awaitMuted(t, b, "produce", 1)
	newFile(t, b, path, credentials(t, bob))
	for _, p := range []*peer{rests, muted} {
		p.mustEnd()
	}
	// A parked fetch may be answered before the end, or not.
	eventually(t, "alice has no connections", func() bool {
		return scrape(t, b).sum("kaasd_connections", "listener", "SASL_PLAINTEXT") == 1
	})
	stays.mustProduce("t", batch(10))
	if code := dial(t, b.SASL).logIn("alice", "a-secret"); code != kafka.SASLAuthenticationFailed {
		t.Errorf("alice logs in again: %s", code)
	}
	awaitMuted(t, b, "produce", 0)
}

// Another authType ends sessions, new keys do not: operators write new salts
// for the same password.
func TestNewKeysKeepSessions(t *testing.T) {
	b, path := startWithFile(t, credentials(t, carol))
	p := dial(t, b.SASL)
	if all, _ := logInBy(p, carol.as(), func() {}); all[len(all)-1].ErrorCode != kafka.NoError {
		t.Fatal("carol cannot log in")
	}
	changed := account{"carol", "another", kafka.ScramSHA512}
	newFile(t, b, path, credentials(t, changed))
	p.mustProduce("t", batch(10))
	for who, want := range map[account]kafka.Code{carol: kafka.SASLAuthenticationFailed, changed: kafka.NoError} {
		if all, _ := logInBy(dial(t, b.SASL), who.as(), func() {}); all[len(all)-1].ErrorCode != want {
			t.Errorf("with password %s: %s", who.password, all[len(all)-1].ErrorCode)
		}
	}
	newFile(t, b, path, credentials(t, account{"carol", "another", kafka.ScramSHA256}))
	p.mustEnd()
}

// A log-in under way ends against the keys it began with.
func TestReloadBetweenTheStepsOfALogin(t *testing.T) {
	b, path := startWithFile(t, credentials(t, carol))
	p := dial(t, b.SASL)
	all, _ := logInBy(p, carol.as(), func() { newFile(t, b, path, credentials(t, carol, bob)) })
	if got := all[len(all)-1].ErrorCode; got != kafka.NoError {
		t.Errorf("got %s", got)
	}
	p.mustProduce("t", batch(10))
}

// A bad, empty or vanished file takes nothing away; the old content clears the
// alarm.
func TestBadFilesTakeNothingAway(t *testing.T) {
	good := fileQuota(`"producerMaxByteRatePerBroker":1234`)
	b, path := startWithFile(t, good)
	session, admin := dialAs(t, b.SASL, "alice", "a-secret"), dial(t, b.Plain)
	gauge := func() float64 { return scrape(t, b).sum("kaasd_credentials_last_reload_successful") }
	if got := gauge(); got != 1 {
		t.Fatalf("the gauge is %v at the start", got)
	}
	vanish := func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, harm := range map[string]func(){
		"cut off":         func() { rewrite(t, path, good[:40]) },
		"empty":           func() { rewrite(t, path, "") },
		"no users":        func() { rewrite(t, path, "{}") },
		"vanished":        vanish,
		"not JSON at all": func() { rewrite(t, path, "users: []") },
	} {
		t.Run(name, func(t *testing.T) {
			harm()
			if r := b.Reload(credstore.TriggerSignal); r.Err == nil {
				t.Error("the reload reports no error")
			}
			if got := gauge(); got != 0 {
				t.Errorf("the gauge is %v", got)
			}
			session.versions()
			dialAs(t, b.SASL, "bob", "b-secret")
			if got := admin.describe()["alice"][kafka.ProducerByteRate]; got != 1234 {
				t.Errorf("alice has %v", got)
			}
			if status, _ := page(t, b, "/readyz"); status != 200 {
				t.Errorf("/readyz is %d", status)
			}
			newFile(t, b, path, good)
			if got := gauge(); got != 1 {
				t.Errorf("the gauge is %v with the old content", got)
			}
		})
	}
}

// A mounted Secret changes by the swap of a link; it is noticed without being
// asked, every time.
func TestMountedSecretIsFollowed(t *testing.T) {
	dir := t.TempDir()
	swap := func(version, content string) {
		t.Helper()
		steps := []error{
			os.Mkdir(filepath.Join(dir, version), 0o755),
			os.WriteFile(filepath.Join(dir, version, "credentials.json"), []byte(content), 0o600),
			os.Symlink(version, filepath.Join(dir, "..data_tmp")),
			os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")),
		}
		for _, err := range steps {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	swap("..1", credentials(t, alice))
	path := filepath.Join(dir, "credentials.json")
	if err := os.Symlink(filepath.Join("..data", "credentials.json"), path); err != nil {
		t.Fatal(err)
	}
	b := brokertest.Start(t, func(c *broker.Config) { c.CredentialsFile = path })
	stays := dialAs(t, b.SASL, "alice", "a-secret")
	for i, version := range []string{"..2", "..3", "..4"} {
		next := account{"user" + version, "pw", kafka.ScramUnknown}
		swap(version, credentials(t, alice, next))
		eventually(t, "the new user logs in", func() bool { return dial(t, b.SASL).logIn(next.name, next.password) == kafka.NoError })
		stays.versions()
		if i == 0 {
			if err := os.RemoveAll(filepath.Join(dir, "..1")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A user who is removed while a log-in is under way does not get in to stay.
func TestRemovalBetweenTheStepsOfALogin(t *testing.T) {
	b, path := startWithFile(t, credentials(t, carol))
	p := dial(t, b.SASL)
	all, _ := logInBy(p, carol.as(), func() { newFile(t, b, path, credentials(t, bob)) })
	if got := all[len(all)-1].ErrorCode; got != kafka.SASLAuthenticationFailed {
		t.Errorf("got %s", got)
	}
	p.mustEnd()
}

// Log-ins of users that do not change never fail, whatever is done to the file
// meanwhile, and its last content wins.
func TestLoginsDuringStormsOfReloads(t *testing.T) {
	t.Parallel()
	good := credentials(t, alice)
	b, path := startWithFile(t, good)
	write := func(path, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Error(err)
		}
	}
	var versions []string
	for i := range 50 {
		versions = append(versions, credentials(t, alice, account{fmt.Sprintf("user-%d", i), "pw", kafka.ScramUnknown}))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range versions {
			write(path, "")
			b.Reload(credstore.TriggerSignal)
			write(path, good[:i+1])
			b.Reload(credstore.TriggerSignal)
			write(path, good)
			write(path+".next", versions[i])
			if err := os.Rename(path+".next", path); err != nil {
				t.Error(err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if code := dial(t, b.SASL).logIn("alice", "a-secret"); code != kafka.NoError {
			t.Fatalf("alice cannot log in: %s", code)
		}
	}
	eventually(t, "the last content is in force", func() bool { return dial(t, b.SASL).logIn("user-49", "pw") == kafka.NoError })
}
