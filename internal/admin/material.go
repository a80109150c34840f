package admin

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/config"
	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"

	"kaasd/internal/certificate"
	"kaasd/internal/watch"
)

// material is what tls_server_config names or holds.
type material struct{ cert, key, authorities certificate.Part }

// gather reads what there is, so far as to tell it from what is there later.
func (l *lock) gather(path string, content []byte, c *web.TLSConfig) (material, error) {
	h := sha256.New()
	h.Write(content)
	l.files = []string{path}
	var m material
	for _, p := range []struct {
		setting, inline, file string
		into                  *certificate.Part
	}{
		{"cert", c.TLSCert, c.TLSCertPath, &m.cert},
		{"key", string(c.TLSKey), c.TLSKeyPath, &m.key},
		{"client_ca", c.ClientCAsText, c.ClientCAs, &m.authorities},
	} {
		if p.file == "" {
			*p.into = certificate.NewPart(p.setting, "", []byte(p.inline))
			continue
		}
		data, err := watch.Read(p.file, lockBytes)
		if err != nil {
			return m, fmt.Errorf("%s_file: %w", p.setting, err)
		}
		fmt.Fprintf(h, "%d ", len(data))
		h.Write(data)
		l.files = append(l.files, p.file)
		*p.into = certificate.NewPart(p.setting+"_file", p.file, data)
	}
	h.Sum(l.sum[:0])
	return m, nil
}

// encrypt makes the configuration of handshakes, if there is one. The certificate is
// held, not read again by each of them: half of a new one would stop all.
func (l *lock) encrypt(path string, content []byte, c *web.TLSConfig) error {
	m, err := l.gather(path, content, c)
	if err != nil || !c.IsEnabled() {
		return err
	}
	if err := complete(c); err != nil {
		return err
	}
	if l.pair, err = certificate.NewPair(m.cert, m.key); err != nil {
		return err
	}
	made, err := m.config(c)
	if err != nil {
		return err
	}
	if cmp.Or(c.ClientCAs, c.ClientCAsText) != "" {
		if l.authorities, err = certificate.NewAuthorities(m.authorities); err != nil {
			return err
		}
		made.ClientCAs = l.authorities.Pool // none in it would stand for those of the machine
	}
	made.Certificates, made.GetCertificate = []tls.Certificate{l.pair.TLS}, nil
	l.sans = c.ClientAllowedSans != nil // an empty list lets nobody in
	l.tls = everyTime(made)
	return nil
}

// complete says what is missing beside that which is there.
func complete(c *web.TLSConfig) error {
	switch {
	case cmp.Or(c.TLSCertPath, c.TLSCert) == "":
		return errors.New("tls_server_config: cert_file is missing, the certificate")
	case cmp.Or(c.TLSKeyPath, string(c.TLSKey)) == "":
		return errors.New("tls_server_config: key_file is missing, the key to the certificate")
	case cmp.Or(c.ClientCAs, c.ClientCAsText) != "" && (c.ClientAuth == "" || c.ClientAuth == "NoClientCert"):
		return errors.New("client_ca_file: nobody is asked for a certificate (client_auth_type: RequireAndVerifyClientCert asks everybody)")
	case cmp.Or(c.ClientCAs, c.ClientCAsText) != "":
		return nil
	case c.ClientAuth == "RequireAndVerifyClientCert", c.ClientAuth == "VerifyClientCertIfGiven":
		return fmt.Errorf("client_auth_type: %s needs client_ca_file, the authorities of the clients: without it those that this machine trusts would count, that is nearly anybody's", c.ClientAuth)
	}
	return nil
}

// config lets exporter-toolkit make what it makes of the settings. The files were
// read: it would read them again, and wait for a pipe.
func (m material) config(c *web.TLSConfig) (*tls.Config, error) {
	read := *c
	read.TLSCertPath, read.TLSKeyPath, read.ClientCAs = "", "", ""
	read.TLSCert, read.TLSKey, read.ClientCAsText = string(m.cert.PEM()), config.Secret(m.key.PEM()), string(m.authorities.PEM())
	return web.ConfigToTLSConfig(&read)
}

// timely says whether what is new to the pages counts now: a pair, authorities of
// clients. What is in force does, so that nothing else in the file has to wait for the
// next.
func (l *lock) timely(held *lock, now time.Time) error {
	if l.tls == nil { // as held is: TLS stays on or off
		return nil
	}
	if !l.pair.Same(held.pair) {
		if err := l.pair.Timely(now); err != nil {
			return err
		}
	}
	if !l.verifies() || held.verifies() && l.authorities.Same(held.authorities) {
		return nil
	}
	return l.authorities.Timely(now)
}

// verifies says whether authorities of clients are asked about.
func (l *lock) verifies() bool { return l.tls.ClientAuth >= tls.VerifyClientCertIfGiven }

// end is when the first of the certificates ends that were taken at a moment.
func (l *lock) end(taken time.Time) time.Time {
	end := l.pair.End
	if !l.verifies() || l.authorities.Count() == 0 {
		return end
	}
	if trusted := l.authorities.End(taken); trusted.Before(end) {
		return trusted
	}
	return end
}

// tell says in the log what of the certificates does not count.
func (l *lock) tell(log *zap.Logger, path string, now time.Time) {
	if l.tls == nil {
		return
	}
	if err := l.pair.Timely(now); err != nil {
		log.Error("the pages show a certificate that clients refuse", zap.String("file", path), zap.Error(err))
	}
	if l.verifies() {
		l.authorities.Tell(log.With(zap.String("config", path)), now)
	}
}

var errNoName = errors.New("a certificate with one of client_allowed_sans is needed")

// everyTime makes the names in clients' certificates count for resumed sessions, too:
// VerifyPeerCertificate is not asked about those, and so a name that was taken out
// would come in for as long as its ticket is good.
func everyTime(config *tls.Config) *tls.Config {
	verify := config.VerifyPeerCertificate
	config.VerifyPeerCertificate = nil
	if verify == nil || config.ClientAuth == tls.NoClientCert {
		return config
	}
	config.VerifyConnection = func(met tls.ConnectionState) error {
		if len(met.PeerCertificates) == 0 {
			return errNoName
		}
		return verify([][]byte{met.PeerCertificates[0].Raw}, met.VerifiedChains)
	}
	return config
}
