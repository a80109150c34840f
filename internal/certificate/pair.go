package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Part is PEM that somebody gave, and where it stands.
type Part struct {
	setting string // that names the file, or holds the PEM itself
	file    string // "": the setting holds it
	pem     []byte
}

// NewPart is what a file holds that a setting names, or, with no file, the setting.
func NewPart(setting, file string, pem []byte) Part {
	return Part{setting: setting, file: file, pem: plain(pem)}
}

// PEM is the content as it is read: without marks of byte order.
func (p Part) PEM() []byte { return p.pem }

// place is where it stands, for a sentence about something else.
func (p Part) place() string {
	if p.file == "" {
		return p.setting
	}
	return p.file
}

// fault is an error about it.
func (p Part) fault(err error) error {
	if p.file == "" {
		return fmt.Errorf("%s: %w", p.setting, err)
	}
	return fmt.Errorf("%s: %s: %w", p.setting, p.file, err)
}

// Pair is a certificate with its key. It does not change.
type Pair struct {
	TLS tls.Certificate
	End time.Time // of the first certificate of the chain: from then on clients refuse it

	cert Part // without the PEM
}

// NewPair joins a certificate, with its chain behind it, and its key.
func NewPair(cert, key Part) (*Pair, error) {
	if err := checkCertificate(cert.pem); err != nil {
		return nil, cert.fault(err)
	}
	if err := checkKey(key.pem); err != nil {
		return nil, key.fault(err)
	}
	made, err := tls.X509KeyPair(cert.pem, key.pem)
	switch {
	case err != nil && strings.Contains(err.Error(), "does not match"):
		return nil, key.fault(fmt.Errorf("the key is not that of the certificate in %s", cert.place()))
	case err != nil:
		return nil, fmt.Errorf("%s with key %s: %w", strings.TrimSuffix(cert.fault(errors.New("")).Error(), ": "), key.place(), err)
	}
	p := &Pair{TLS: made, cert: Part{setting: cert.setting, file: cert.file}}
	if p.End, err = firstEnd(made); err != nil {
		return nil, cert.fault(err)
	}
	return p, nil
}

// firstEnd is when the first certificate of the chain ends.
func firstEnd(made tls.Certificate) (time.Time, error) {
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

// Same says whether clients are shown the same.
func (p *Pair) Same(other *Pair) bool {
	return slices.EqualFunc(p.TLS.Certificate, other.TLS.Certificate, slices.Equal)
}

// Timely says whether the pair counts at a moment.
func (p *Pair) Timely(now time.Time) error {
	if begins := p.TLS.Leaf.NotBefore; now.Before(begins) {
		return &outOfTime{p.cert.fault(fmt.Errorf("the certificate is not valid before %s (is the clock right?)", stamp(begins))), begins}
	}
	if now.After(p.End) {
		return &outOfTime{error: p.cert.fault(fmt.Errorf("a certificate in it has expired at %s", stamp(p.End)))}
	}
	return nil
}
