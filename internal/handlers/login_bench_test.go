package handlers

import (
	"crypto/pbkdf2"
	"encoding/base64"
	"strings"
	"testing"

	"kaasd/internal/auth"
	"kaasd/internal/kafka"
)

// BenchmarkScramLogin is a whole log-in as the handlers see it: the handshake and
// two tokens. What the client computes for its proof is in it too, without the
// hashing of the password, which a client does once.
func BenchmarkScramLogin(b *testing.B) {
	for _, m := range kafka.ScramMechanisms {
		b.Run(m.String(), func(b *testing.B) {
			r := newRig(b)
			c, err := kafka.NewScramCredential(m, "secret", testSalt, 8192)
			if err != nil {
				b.Fatal(err)
			}
			r.Secrets = oneScram{"alice", c}
			client := newScramClient(b, m, "secret", testSalt, 8192)
			b.ReportAllocs()
			for b.Loop() {
				p := r.connect(saslListener)
				handshake(p, 1, m.String())
				first := authenticate(p, 2, "n,,n=alice,r=abc")
				if got := authenticate(p, 2, client.final(string(first.AuthBytes))); got.ErrorCode != kafka.NoError {
					b.Fatal(*got.ErrorMessage)
				}
			}
		})
	}
}

// oneScram knows a single credential.
type oneScram struct {
	user       string
	credential kafka.ScramCredential
}

var _ auth.Secrets = oneScram{}

func (o oneScram) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	return o.credential, user == o.user && m == o.credential.Mechanism
}

func (o oneScram) Plain(string) (func(string) bool, bool) { return nil, false }

// scramClient holds what a client keeps between log-ins.
type scramClient struct {
	mechanism         kafka.ScramMechanism
	clientKey, stored []byte
}

func newScramClient(t testing.TB, m kafka.ScramMechanism, password string, salt []byte, iterations int) scramClient {
	t.Helper()
	salted, err := pbkdf2.Key(m.Hash, password, salt, iterations, m.KeySize())
	if err != nil {
		t.Fatal(err)
	}
	key := m.HMAC(salted, "Client Key")
	return scramClient{m, key, m.Sum(key)}
}

// final answers the server's first message to n,,n=alice,r=abc.
func (c scramClient) final(serverFirst string) string {
	nonce, _, _ := strings.Cut(serverFirst, ",")
	without := "c=biws," + nonce
	proof := c.mechanism.HMAC(c.stored, "n=alice,r=abc,"+serverFirst+","+without)
	for i := range proof {
		proof[i] ^= c.clientKey[i]
	}
	return without + ",p=" + base64.StdEncoding.EncodeToString(proof)
}
