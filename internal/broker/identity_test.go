package broker_test

import (
	"crypto/x509/pkix"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kaasd/internal/broker"
	"kaasd/internal/certificate"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
)

// tlsUser is an entry of the credentials file.
func tlsUser(name, cn string) string {
	return fmt.Sprintf(`{"username":%q,"authType":"tls","tlsCN":%q}`, name, cn)
}

func usersFile(entries ...string) string {
	file := `{"users":[`
	for i, e := range entries {
		if i > 0 {
			file += ","
		}
		file += e
	}
	return file + "]}"
}

// A session that a certificate gave ends when the certificate means somebody
// else, also while it is parked; sessions of other certificates stay.
func TestSessionsOfTLSUsers(t *testing.T) {
	carol, dave := tlsUser("carol", "carol.example"), tlsUser("dave", "dave.example")
	for name, next := range map[string]string{
		"removed":          usersFile(dave),
		"another tlsCN":    usersFile(tlsUser("carol", "caroline.example"), dave),
		"another authType": usersFile(`{"username":"carol","authType":"plain","plainPassword":"p","tlsCN":"carol.example"}`, dave),
		"another user's":   usersFile(tlsUser("eve", "carol.example"), dave),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotary(t)
			b, path := startWithFile(t, usersFile(carol, dave), n.listeners, func(c *broker.Config) { c.TLS.ClientAuth = certificate.Required })
			of := func(cn string) *peer { return mustDialTLS(t, b.SSL, n.client(pkix.Name{CommonName: cn})) }
			stays, rests, parks := of("dave.example"), of("carol.example"), of("carol.example")
			for _, p := range []*peer{stays, rests, parks} {
				p.versions()
			}
			fetch := fetchRequest("t", 0)
			fetch.MaxWaitMs, fetch.MinBytes = 600_000, 50<<20
			parks.send(12, fetch)
			newFile(t, b, path, next)
			rests.mustEnd()
			eventually(t, "carol has no connections", func() bool {
				return scrape(t, b).sum("kaasd_connections", "listener", "SSL") == 1
			})
			stays.mustProduce("t", batch(10))
			again := of("carol.example") // as whoever the certificate is now
			again.versions()
		})
	}
}

// Log-ins that are under way while the file changes fifty times never fail: each
// has a reload between its two steps.
func TestScramLoginsDuringStormsOfReloads(t *testing.T) {
	t.Parallel()
	b, path := startWithFile(t, credentials(t, carol))
	next := make(chan string)
	go func() {
		defer close(next)
		for i := range 50 {
			next <- credentials(t, carol, account{fmt.Sprintf("user-%d", i), "pw", kafka.ScramUnknown})
		}
	}()
	n := 0
	for content := range next {
		p := dial(t, b.SASL)
		all, _ := logInBy(p, carol.as(), func() {
			rewrite(t, path, content)
			if r := b.Reload(credstore.TriggerSignal); r.Err != nil {
				t.Error(r.Err)
			}
		})
		if got := all[len(all)-1].ErrorCode; got != kafka.NoError {
			t.Fatalf("log-in %d: %s", n, got)
		}
		p.versions()
		n++
	}
	if n != 50 {
		t.Errorf("%d log-ins", n)
	}
}

// Another team's client stays connected although its log-in lasts a moment only:
// it logs in again by itself, and loses nothing.
func TestRealClientsLogInAgain(t *testing.T) {
	t.Parallel()
	b, _ := startWithFile(t, credentials(t, carol), func(c *broker.Config) { c.SessionLifetime = 1500 * time.Millisecond })
	client, err := kgo.NewClient(kgo.SeedBrokers(b.SASL), kgo.DefaultProduceTopic("t"), kgo.ProducerLinger(0),
		kgo.SASL(scram.Auth{User: carol.name, Pass: carol.password}.AsSha512Mechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	logins := func() float64 { return scrape(t, b).sum("kaasd_authentications_total", "result", "success") }
	produced := int64(0)
	eventually(t, "the client has logged in five times", func() bool {
		r := client.ProduceSync(t.Context(), &kgo.Record{Value: []byte("x")})
		if err := r.FirstErr(); err != nil {
			t.Fatal(err)
		}
		if got := r[0].Record.Offset; got != produced {
			t.Fatalf("record %d has offset %d", produced, got)
		}
		produced++
		return logins() >= 5
	})
	if got := scrape(t, b).sum("kaasd_authentications_total", "result", "failure"); got != 0 {
		t.Errorf("%v log-ins failed", got)
	}
}
