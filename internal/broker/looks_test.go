package broker_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// beginning is what the first answer of a log-in shows of a name: the salt and the
// iterations.
func (p *peer) beginning(name string, m kafka.ScramMechanism) (salt []byte, iterations string) {
	p.t.Helper()
	call[message.SaslHandshakeResponse](p, 1, &message.SaslHandshakeRequest{Mechanism: m.String()})
	resp := call[message.SaslAuthenticateResponse](p, 2, &message.SaslAuthenticateRequest{AuthBytes: []byte("n,,n=" + name + ",r=abc")})
	parts := strings.Split(string(resp.AuthBytes), ",")
	if len(parts) != 3 {
		p.t.Fatalf("%s: %s", name, resp.ErrorCode)
	}
	salt, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(parts[1], "s="))
	if err != nil {
		p.t.Fatal(err)
	}
	return salt, strings.TrimPrefix(parts[2], "i=")
}

// Whoever begins a log-in sees of a name that is nobody's what there is to see of
// users: those of the Kafka API as they are now, those of the file that they do not
// stand over; and the same after a restart.
func TestNamesOfNobodyLookLikeUsers(t *testing.T) {
	folder := withFolder(t)
	b, path := startWithFile(t, credentials(t), folder)
	look := func(name string, m kafka.ScramMechanism) string {
		salt, iterations := dial(t, b.SASL).beginning(name, m)
		return fmt.Sprintf("%d %s", len(salt), iterations)
	}
	expect := func(when string, sha256, sha512 string) {
		t.Helper()
		if got := look("nobody", kafka.ScramSHA256); got != sha256 {
			t.Errorf("%s SCRAM-SHA-256 shows %s, want %s", when, got, sha256)
		}
		if got := look("nobody", kafka.ScramSHA512); got != sha512 {
			t.Errorf("%s SCRAM-SHA-512 shows %s, want %s", when, got, sha512)
		}
	}
	const made = "24 8192"
	expect("without users", made, made)
	newFile(t, b, path, strings.Replace(credentials(t, carol), `"iterations":8192`, `"iterations":7000`, 1))
	inFile := look("carol", carol.mechanism)
	expect("with the file", made, inFile)
	given := account{"carol", "c", carol.mechanism}
	dial(t, b.Plain).give(given)
	inMetadata := look("carol", carol.mechanism)
	if inMetadata == inFile || inFile == made {
		t.Fatal("credentials do not differ, and nothing is tried")
	}
	expect("with one over the file's", made, inMetadata)
	before, _ := dial(t, b.SASL).beginning("nobody", carol.mechanism)
	other, _ := dial(t, b.SASL).beginning("somebody", carol.mechanism)
	b.Stop()
	b = brokertest.Start(t, folder)
	if after, _ := dial(t, b.SASL).beginning("nobody", carol.mechanism); string(after) != string(before) || string(after) == string(other) {
		t.Errorf("the salt was %x, and is %x; another's is %x", before, after, other)
	}
	expect("after a restart", made, inMetadata)
	dial(t, b.Plain).take(given)
	expect("without any", made, made)
}
