package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// fixed is a TLSSource that never changes.
type fixed struct{ config *tls.Config }

func (f fixed) Config() *tls.Config { return f.config }

// newCertificate makes a certificate that signs itself, for the names.
func newCertificate(t testing.TB, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: names[0]},
		DNSNames:     names,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// secret are the options of a server with one TLS listener for
// kafka.example and *.pods.example, and what its clients need.
func secret(t testing.TB) (Options, *tls.Config) {
	t.Helper()
	pair := newCertificate(t, "kafka.example", "*.pods.example")
	o := testOptions()
	o.Listeners[0] = Listener{
		Name: "SSL", Protocol: SSL, Address: "127.0.0.1:0", Host: "127.0.0.1",
		TLS: fixed{&tls.Config{Certificates: []tls.Certificate{pair}}},
	}
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	return o, &tls.Config{RootCAs: roots, ServerName: "kafka.example"}
}

// encrypted puts TLS over a client's connection.
func (c *client) encrypted(config *tls.Config) *client {
	return &client{tls.Client(c.Conn, config), c.t}
}

func TestTLSEcho(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			o, config := secret(t)
			config.MinVersion, config.MaxVersion = version, version
			r := start(t, o, &handler{serve: echo})
			c := r.dial().encrypted(config)
			for _, size := range []int{0, 4, 508, 4097, 16384, 262145, 5<<20 + 3} {
				body := bytes.Repeat([]byte{byte(size)}, size)
				go c.Write(framed(body))
				if !bytes.Equal(c.receive(), body) {
					t.Errorf("frame of %d bytes came back as another", size)
				}
			}
			if n := r.value("kaasd_tls_handshakes_total", "SSL", "success"); n != 1 {
				t.Errorf("got %v handshakes, want 1", n)
			}
			if got := c.Conn.(*tls.Conn).ConnectionState().Version; got != version {
				t.Errorf("got TLS %x, want %x", got, version)
			}
		})
	}
}
