package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// ClientAuth says whether clients show a certificate (ssl.client.auth).
type ClientAuth string

// The values, as in Kafka. A certificate that is shown must be of a trusted
// authority, also where it need not be shown.
const (
	None      ClientAuth = "none"
	Requested ClientAuth = "requested"
	Required  ClientAuth = "required"
)

var clientAuths = map[ClientAuth]tls.ClientAuthType{
	None:      tls.NoClientCert,
	Requested: tls.VerifyClientCertIfGiven,
	Required:  tls.RequireAndVerifyClientCert,
}

// set is everything the files hold. It does not change.
type set struct {
	sum          [sha256.Size]byte
	certificates []tls.Certificate
	authorities  int                        // trusted for clients
	ends         map[string]time.Time       // when the first of a file's certificates ends
	configs      map[ClientAuth]*tls.Config // with authorities all three, else None alone
}

// parse makes a set of what the files hold.
func parse(f Files, c content, least uint16) (*set, error) {
	s := &set{sum: f.sum(c), ends: map[string]time.Time{}}
	for i, file := range f.Certs {
		made, err := pair(file, f.Keys[i], c)
		if err != nil {
			return nil, err
		}
		if s.ends[file], err = FirstEnd(made); err != nil {
			return nil, fmt.Errorf("tls.cert.file: %s: %w", file, err)
		}
		s.certificates = append(s.certificates, made)
	}
	var pool *x509.CertPool
	if f.ClientCA != "" {
		trusted, err := authorities(c[f.ClientCA])
		if err != nil {
			return nil, fmt.Errorf("tls.client.ca.file: %s: %w", f.ClientCA, err)
		}
		pool = x509.NewCertPool()
		for _, a := range trusted {
			pool.AddCert(a)
		}
		s.authorities = len(trusted)
	}
	s.configure(pool, least)
	return s, nil
}

func (s *set) configure(pool *x509.CertPool, least uint16) {
	s.configs = map[ClientAuth]*tls.Config{}
	for auth, kind := range clientAuths {
		if auth != None && pool == nil {
			continue // nobody could be let in
		}
		s.configs[auth] = &tls.Config{Certificates: s.certificates, ClientAuth: kind, ClientCAs: pool, MinVersion: least}
	}
}

// FirstEnd is when the first certificate of the chain ends: from then on
// clients refuse it.
func FirstEnd(made tls.Certificate) (time.Time, error) {
	end := made.Leaf.NotAfter
	for i, der := range made.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return end, fmt.Errorf("certificate %d of the chain: %w", i+2, err)
		}
		if c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end, nil
}

// authorities reads a bundle of certificates.
func authorities(data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("a block of type %q stands in it (certificates alone belong there)", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no certificate in it (PEM, BEGIN CERTIFICATE)")
	}
	return all, nil
}

// outOfTime is a certificate that does not count at the moment.
type outOfTime struct {
	file   string
	begins time.Time // when it is still to come; else zero
	ended  time.Time
}

func (e *outOfTime) Error() string {
	if !e.begins.IsZero() {
		return fmt.Sprintf("tls.cert.file: %s: the certificate is not valid before %s (is the clock right?)", e.file, e.begins.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("tls.cert.file: %s: a certificate in it has expired at %s", e.file, e.ended.UTC().Format(time.RFC3339))
}

// timely says whether the certificates count now.
func (s *set) timely(f Files, now time.Time) error {
	for i, file := range f.Certs {
		if begins := s.certificates[i].Leaf.NotBefore; now.Before(begins) {
			return &outOfTime{file: file, begins: begins}
		}
		if end := s.ends[file]; now.After(end) {
			return &outOfTime{file: file, ended: end}
		}
	}
	return nil
}

// firstEnd is when the first certificate ends.
func (s *set) firstEnd() time.Time {
	var first time.Time
	for _, end := range s.ends {
		if first.IsZero() || end.Before(first) {
			first = end
		}
	}
	return first
}
