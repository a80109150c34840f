package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"slices"
	"time"

	"go.uber.org/zap"
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
	authorities Authorities                // of clients
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
	if f.ClientCA != "" {
		var err error
		if s.authorities, err = NewAuthorities(NewPart("tls.client.ca.file", f.ClientCA, c[f.ClientCA])); err != nil {
			return nil, err
		}
	}
	s.configure(least)
	return s, nil
}

func (s *set) configure(least uint16) {
	var shown []tls.Certificate
	for _, p := range s.pairs {
		shown = append(shown, p.TLS)
	}
	s.configs = map[ClientAuth]*tls.Config{}
	for auth, kind := range clientAuths {
		if auth != None && s.authorities.Pool == nil {
			continue // nobody could be let in
		}
		s.configs[auth] = &tls.Config{Certificates: shown, ClientAuth: kind, ClientCAs: s.authorities.Pool, MinVersion: least}
	}
}

// timely says whether the set may take the place of another now. What is in force
// already is not judged again: a renewed certificate does not wait for an authority
// that has ended.
func (s *set) timely(held *set, now time.Time) error {
	for _, p := range s.pairs {
		if slices.ContainsFunc(held.pairs, p.Same) {
			continue
		}
		if err := p.Timely(now); err != nil {
			return err
		}
	}
	if s.authorities.Same(held.authorities) {
		return nil
	}
	return s.authorities.Timely(now)
}

// tell says in the log what of the set does not count.
func (s *set) tell(log *zap.Logger, now time.Time) {
	for _, p := range s.pairs {
		if err := p.Timely(now); err != nil {
			log.Error("a certificate is shown that clients refuse", zap.Error(err))
		}
	}
	s.authorities.Tell(log, now)
}

// ends are when the certificates of a set that was taken at a moment end, by file.
// Where one file holds both, the first end counts.
func (s *set) ends(taken time.Time) map[string]time.Time {
	all := map[string]time.Time{}
	for _, p := range s.pairs {
		all[p.cert.file] = earlier(all[p.cert.file], p.End)
	}
	if file := s.authorities.bundle.file; file != "" {
		all[file] = earlier(all[file], s.authorities.End(taken))
	}
	return all
}

// firstEnd is when the first of them ends.
func (s *set) firstEnd(taken time.Time) time.Time {
	var first time.Time
	for _, end := range s.ends(taken) {
		first = earlier(first, end)
	}
	return first
}
