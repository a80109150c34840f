package server

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zaptest/observer"
)

// tap is a connection that keeps what passes.
type tap struct {
	net.Conn
	in, out bytes.Buffer
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.in.Write(p[:n])
	return n, err
}

func (t *tap) Write(p []byte) (int, error) {
	t.out.Write(p)
	return t.Conn.Write(p)
}

// sealer writes records of a TLS 1.2 connection that crypto/tls would not: it
// takes over from a client that has shaken hands and sent nothing yet.
type sealer struct {
	gcm      cipher.AEAD
	salt     []byte
	sequence uint64
}

// takeOver learns the keys of the client's side (RFC 5246 section 6.3), for
// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256.
func takeOver(t *testing.T, passed *tap, keyLog string) *sealer {
	t.Helper()
	const random = 5 + 4 + 2 // behind the heads of record and message, and the version
	client, server := passed.out.Bytes()[random:][:32], passed.in.Bytes()[random:][:32]
	words := strings.Fields(keyLog) // CLIENT_RANDOM, the random, the master secret
	master, err := hex.DecodeString(words[len(words)-1])
	if err != nil {
		t.Fatal(err)
	}
	keys := expand(master, append([]byte("key expansion"), append(append([]byte(nil), server...), client...)...), 40)
	block, err := aes.NewCipher(keys[:16])
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return &sealer{gcm: gcm, salt: keys[32:36], sequence: 1} // 0 was Finished
}

// expand is P_SHA256 (RFC 5246 section 5).
func expand(secret, seed []byte, n int) []byte {
	mac := func(parts ...[]byte) []byte {
		h := hmac.New(sha256.New, secret)
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	var out []byte
	for a := mac(seed); len(out) < n; a = mac(a) {
		out = append(out, mac(a, seed)...)
	}
	return out[:n]
}

// record seals one (RFC 5288 section 3).
func (s *sealer) record(kind byte, content []byte) []byte {
	explicit := binary.BigEndian.AppendUint64(nil, s.sequence)
	s.sequence++
	about := append(append([]byte(nil), explicit...), kind, 3, 3, byte(len(content)>>8), byte(len(content)))
	sealed := s.gcm.Seal(nil, append(append([]byte(nil), s.salt...), explicit...), content, about)
	n := len(explicit) + len(sealed)
	return append(append([]byte{kind, 3, 3, byte(n >> 8), byte(n)}, explicit...), sealed...)
}

// TestRenegotiationIsRefused: a second ClientHello ends the connection, where
// the same bytes as data, sealed alike, are answered.
func TestRenegotiationIsRefused(t *testing.T) {
	const data, handshake = 23, 22
	for name, again := range map[string]bool{"data": false, "hello again": true} {
		t.Run(name, func(t *testing.T) {
			o, config := secret(t)
			var keyLog strings.Builder
			config.MaxVersion, config.KeyLogWriter = tls.VersionTLS12, &keyLog
			config.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
			h := &handler{serve: echo}
			r := start(t, o, h)
			passed := &tap{Conn: r.dial().Conn}
			if err := tls.Client(passed, config).Handshake(); err != nil {
				t.Fatal(err)
			}
			hello := passed.out.Bytes()[5:][:binary.BigEndian.Uint16(passed.out.Bytes()[3:])]
			s := takeOver(t, passed, keyLog.String())
			if !again {
				passed.Conn.Write(s.record(data, framed(hello)))
				if _, err := io.ReadFull(passed.Conn, make([]byte, 5+8+4+len(hello)+16)); err != nil {
					t.Errorf("no answer: %v", err)
				}
				return
			}
			passed.Conn.Write(s.record(handshake, hello))
			passed.Conn.Write(s.record(data, framed([]byte("more"))))
			head := make([]byte, 5)
			if _, err := io.ReadFull(passed.Conn, head); err != nil || head[0] != 21 {
				t.Errorf("got a record of type %d and %v, want an alert", head[0], err)
			}
			eventually(t, "it is gone", func() bool { return r.Connections() == 0 })
			if n := r.value("kaasd_tls_handshakes_total", "SSL", "success"); n != 1 {
				t.Errorf("got %v handshakes, want 1", n)
			}
		})
	}
}

// TestOversizedRecord: one that is too long ends a connection past its
// handshake, before its bytes are waited for.
func TestOversizedRecord(t *testing.T) {
	o, config := secret(t)
	r := start(t, o, &handler{serve: echo})
	c := r.dial()
	if err := tls.Client(c.Conn, config).Handshake(); err != nil {
		t.Fatal(err)
	}
	c.send([]byte{23, 3, 3, 0x60, 0}) // 24 KiB; 16 KiB and some are allowed
	io.Copy(io.Discard, c)
	eventually(t, "it is gone", func() bool { return r.Connections() == 0 })
}

// hoarded is the start of a message of a handshake, a chain of certificates of 256
// KiB.
func hoarded(n int) []byte { return append([]byte{11, 3, 255, 255}, make([]byte, n-4)...) }

// TestMessageThatFillsMemory: TLS gathers a message until it is whole, before and
// after the handshake, so a long one ends the connection long before.
func TestMessageThatFillsMemory(t *testing.T) {
	const handshake, size = 22, 16000
	t.Run("after the handshake", func(t *testing.T) {
		o, config := secret(t)
		var keyLog strings.Builder
		config.MaxVersion, config.KeyLogWriter = tls.VersionTLS12, &keyLog
		config.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
		r, logs := logged(t, o, &handler{serve: echo})
		passed := &tap{Conn: r.dial().Conn}
		if err := tls.Client(passed, config).Handshake(); err != nil {
			t.Fatal(err)
		}
		s := takeOver(t, passed, keyLog.String())
		for message := hoarded(4 * size); len(message) > 0; message = message[size:] {
			passed.Conn.Write(s.record(handshake, message[:size]))
		}
		told(t, logs, "not a frame of Kafka, connection closed", errHoarding)
	})
	t.Run("within it", func(t *testing.T) {
		o, config := secret(t)
		r, logs := logged(t, o, &handler{serve: echo})
		config.MaxVersion = tls.VersionTLS12
		c := r.dial()
		tls.Client(&hasty{c.Conn}, config).Handshake() // says hello
		for range 6 {
			c.Write(append([]byte{handshake, 3, 3, size >> 8, size & 255}, hoarded(size)...))
		}
		told(t, logs, "TLS handshake failed", errHoarding)
	})
}

// TestLongHello: where clients are asked for certificates a first message may be
// long, since the ticket of an earlier connection has them in it. Elsewhere a client
// with that much to say is not one of Kafka.
func TestLongHello(t *testing.T) {
	tests := map[string]struct {
		asks tls.ClientAuthType
		size int
		why  error
	}{
		"16 KB":                     {tls.NoClientCert, 16_000, nil},
		"24 KB":                     {tls.NoClientCert, 24_000, errHoarding},
		"48 KB, certificates asked": {tls.RequestClientCert, 48_000, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, config := secret(t)
			asking := o.Listeners[0].TLS.Config().Clone()
			asking.ClientAuth = test.asks
			o.Listeners[0].TLS = fixed{asking}
			r, logs := logged(t, o, &handler{serve: echo})
			for len(config.NextProtos) < test.size/100 {
				config.NextProtos = append(config.NextProtos, strings.Repeat("x", 99))
			}
			c := r.dial().encrypted(config)
			err := c.Conn.(*tls.Conn).Handshake()
			if (err != nil) != (test.why != nil) {
				t.Errorf("the handshake ended with %v", err)
			}
			if test.why != nil {
				told(t, logs, "TLS handshake failed", test.why)
			}
		})
	}
}

// told waits for the one line of the log with the message, and looks at its error.
func told(t *testing.T, logs *observer.ObservedLogs, message string, why error) {
	t.Helper()
	eventually(t, message, func() bool { return logs.FilterMessage(message).Len() > 0 })
	if diff := cmp.Diff([]string{why.Error()}, reasons(logs, message)); diff != "" {
		t.Error(diff)
	}
}

// hasty is a connection that does not wait for answers, and stays open.
type hasty struct{ net.Conn }

func (h *hasty) Read([]byte) (int, error) { return 0, io.EOF }
func (h *hasty) Close() error             { return nil }
