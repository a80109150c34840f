package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
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
	sum         [sha256.Size]byte
	pairs       []*Pair                    // as Files.Certs
	authorities int                        // trusted for clients
	configs     map[ClientAuth]*tls.Config // with authorities all three, else None alone
}

// parse makes a set of what the files hold.
func parse(f Files, c content, least uint16) (*set, error) {
	s := &set{sum: f.sum(c)}
	for i := range f.Certs {
		made, err := f.pair(i, c)
		if err != nil {
			return nil, err
		}
		s.pairs = append(s.pairs, made)
	}
	var pool *x509.CertPool
	if f.ClientCA != "" {
		var err error
		if pool, s.authorities, err = Authorities(NewPart("tls.client.ca.file", f.ClientCA, c[f.ClientCA])); err != nil {
			return nil, err
		}
	}
	s.configure(pool, least)
	return s, nil
}

func (s *set) configure(pool *x509.CertPool, least uint16) {
	var shown []tls.Certificate
	for _, p := range s.pairs {
		shown = append(shown, p.TLS)
	}
	s.configs = map[ClientAuth]*tls.Config{}
	for auth, kind := range clientAuths {
		if auth != None && pool == nil {
			continue // nobody could be let in
		}
		s.configs[auth] = &tls.Config{Certificates: shown, ClientAuth: kind, ClientCAs: pool, MinVersion: least}
	}
}

// timely says whether the certificates count now.
func (s *set) timely(now time.Time) error {
	for _, p := range s.pairs {
		if err := p.Timely(now); err != nil {
			return err
		}
	}
	return nil
}

// firstEnd is when the first certificate ends.
func (s *set) firstEnd() time.Time {
	var first time.Time
	for _, p := range s.pairs {
		if first.IsZero() || p.End.Before(first) {
			first = p.End
		}
	}
	return first
}
