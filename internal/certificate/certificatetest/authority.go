// Package certificatetest makes authorities and certificates for tests, in PEM.
package certificatetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	Cert []byte // PEM
	leaf *x509.Certificate
	key  *ecdsa.PrivateKey
}

var serials atomic.Int64

// NewAuthority makes one that signs itself, good for 30 days. Changes may bend it
// before it is signed.
func NewAuthority(t testing.TB, name string, changes ...func(*x509.Certificate)) *Authority {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	for _, change := range changes {
		change(template)
	}
	made := sign(t, template, nil)
	leaf, err := x509.ParseCertificate(made.der)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{Cert: made.Cert, leaf: leaf, key: made.key}
}

// TLS is the authority as a client shows it.
func (a *Authority) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{a.leaf.Raw}, PrivateKey: a.key}
}

// Pair is a certificate and its key, in PEM.
type Pair struct {
	Cert, Key []byte

	der    []byte
	serial *big.Int
	key    *ecdsa.PrivateKey
}

// Serial is the number of the certificate; no other that a process makes has it.
func (p Pair) Serial() *big.Int { return p.serial }

// TLS is the pair as a client shows it.
func (p Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.der}, PrivateKey: p.key}
}

// Write puts the pair into files of a folder, in place, and gives their names.
func (p Pair) Write(t testing.TB, dir string) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, data := range map[string][]byte{cert: p.Cert, key: p.Key} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// Issue makes a certificate for both ends of a connection, good for 30 days, for
// localhost, 127.0.0.1 and the names. Changes may bend it before it is signed.
func (a *Authority) Issue(t testing.TB, subject pkix.Name, names []string, changes ...func(*x509.Certificate)) Pair {
	t.Helper()
	template := &x509.Certificate{
		Subject:  subject,
		DNSNames: append([]string{"localhost"}, names...), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, change := range changes {
		change(template)
	}
	return sign(t, template, a)
}

// Pool holds the authorities.
func Pool(all ...*Authority) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, a := range all {
		pool.AddCert(a.leaf)
	}
	return pool
}

// Valid is the change that makes a certificate good from one moment to another.
func Valid(from, until time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, until }
}

// sign makes a certificate; without an authority it signs itself. It need not be
// one that anybody can read.
func sign(t testing.TB, template *x509.Certificate, by *Authority) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1000 + serials.Add(1))
	if template.NotAfter.IsZero() {
		Valid(time.Now().Add(-time.Hour), time.Now().Add(30*24*time.Hour))(template)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.leaf, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
		der:  der, serial: template.SerialNumber, key: key,
	}
}
