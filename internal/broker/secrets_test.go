package broker_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/record"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
)

// No password, key, salt or record is in the log, not even at debug, nor in a
// metric, a page or an error.
func TestSecretsStayInTheHouse(t *testing.T) {
	const password, other, payload = "Pl41nSecret", "Scr4mSecret", "R3cordData"
	keys, err := credstore.NewScram(kafka.ScramSHA512, other)
	if err != nil {
		t.Fatal(err)
	}
	base := base64.StdEncoding.EncodeToString
	file := fmt.Sprintf(`{"users":[{"username":"alice","authType":"plain","plainPassword":%q},{"username":"carol","authType":"scram-sha-512",`+
		`"scram":{"salt":%q,"storedKey":%q,"serverKey":%q,"iterations":%d}}]}`, password, base(keys.Salt), base(keys.StoredKey), base(keys.ServerKey), keys.Iterations)
	path := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	core, lines := observer.New(zapcore.DebugLevel)
	b := brokertest.StartLogged(t, zap.New(core), func(c *broker.Config) {
		c.CredentialsFile, c.HTTP.Lifecycle, c.HTTP.Pprof = path, true, true
	})
	dial(t, b.Plain).newTopic("t")
	alice := dialAs(t, b.SASL, "alice", password)
	alice.mustProduce("t", record.NewBuilder(record.None).Add(1, []byte(payload), []byte(payload)).Batch())
	alice.produce("none", record.NewBuilder(record.None).Add(1, []byte(payload), []byte(payload)).Batch())
	dial(t, b.SASL).logIn("alice", password+"x")
	logInBy(dial(t, b.SASL), account{"carol", other, kafka.ScramSHA512}.as(), func() {})
	logInBy(dial(t, b.SASL), account{"carol", password, kafka.ScramSHA512}.as(), func() {})
	dial(t, b.Plain).raw(sized(header(0, 9), []byte(payload)))
	var shown strings.Builder
	rewrite(t, path, strings.Replace(file, base(keys.Salt), base(keys.Salt)+"!", 1))
	_, _, body := ask(t, b, http.MethodPost, "/-/reload")
	shown.WriteString(body)
	rewrite(t, path, strings.Replace(file, `"plainPassword":"`+password+`"`, `"plainPassword":["`+password+`"]`, 1))
	_, _, body = ask(t, b, http.MethodPost, "/-/reload")
	shown.WriteString(body)
	for _, p := range []string{"/", "/readyz?verbose", "/metrics", "/v1/status", "/v1/quotas", "/v1/quotas/resolve?user=alice"} {
		_, body := page(t, b, p)
		shown.WriteString(body)
	}
	b.Stop()
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	for _, line := range lines.All() {
		text, err := encoder.EncodeEntry(line.Entry, line.Context)
		if err != nil {
			t.Fatal(err)
		}
		shown.WriteString(text.String())
	}
	if !strings.Contains(shown.String(), "alice") || lines.Len() < 10 {
		t.Fatalf("only %d lines were logged", lines.Len())
	}
	for what, secret := range map[string]string{
		"a password": password, "the other password": other, "a record": payload, "a salt": base(keys.Salt), "a stored key": base(keys.StoredKey), "a server key": base(keys.ServerKey),
		"raw salt": string(keys.Salt),
	} {
		if at := strings.Index(shown.String(), secret); at >= 0 {
			from, to := max(0, at-200), min(shown.Len(), at+100)
			t.Errorf("%s is shown: %s", what, shown.String()[from:to])
		}
	}
}
