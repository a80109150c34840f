package certificate

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
)

// Authorities are the certificates whose clients are let in. They do not change; the
// zero value trusts nobody.
type Authorities struct {
	Pool *x509.CertPool // nil: none

	all    []*x509.Certificate
	bundle Part // without the PEM
}

// NewAuthorities reads a bundle of certificates.
func NewAuthorities(bundle Part) (Authorities, error) {
	all, err := certificates(bundle.pem)
	if err != nil {
		return Authorities{}, bundle.fault(err)
	}
	a := Authorities{Pool: x509.NewCertPool(), all: all, bundle: Part{setting: bundle.setting, file: bundle.file}}
	for _, c := range all {
		a.Pool.AddCert(c)
	}
	return a, nil
}

func certificates(data []byte) ([]*x509.Certificate, error) {
	found, err := blocks(data)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for _, block := range found {
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
		return nil, errNoCertificate
	}
	return all, nil
}

// Count is how many there are.
func (a Authorities) Count() int { return len(a.all) }

// Same says whether the same are trusted.
func (a Authorities) Same(other Authorities) bool {
	return slices.EqualFunc(a.all, other.all, (*x509.Certificate).Equal)
}

// Timely says whether one of them counts at a moment: without any all clients are
// refused. What is still to come makes it an error that Begins knows.
func (a Authorities) Timely(now time.Time) error {
	var begins, last time.Time
	for _, c := range a.all {
		switch {
		case now.After(c.NotAfter):
			last = later(last, c.NotAfter)
		case now.Before(c.NotBefore):
			begins = earlier(begins, c.NotBefore)
		default:
			return nil
		}
	}
	switch {
	case !begins.IsZero():
		return &outOfTime{a.bundle.fault(fmt.Errorf("no authority in it is valid before %s (is the clock right?)", stamp(begins))), begins}
	case !last.IsZero():
		return &outOfTime{error: a.bundle.fault(fmt.Errorf("all authorities in it have expired, the last at %s", stamp(last)))}
	}
	return nil
}

// End is when the first ends of those that had not when they were taken. An old one
// that was left in the bundle ends nothing any more; where all are old, it is the last.
func (a Authorities) End(taken time.Time) time.Time {
	var first, last time.Time
	for _, c := range a.all {
		last = later(last, c.NotAfter)
		if !taken.After(c.NotAfter) {
			first = earlier(first, c.NotAfter)
		}
	}
	if first.IsZero() {
		return last
	}
	return first
}

// Tell says in the log whose clients are refused although they stand in the bundle.
func (a Authorities) Tell(log *zap.Logger, now time.Time) {
	if err := a.Timely(now); err != nil {
		log.Error("clients' certificates are refused, no authority of theirs counts", zap.Error(err))
		return
	}
	var ended, barren []string
	for _, c := range a.all {
		switch {
		case now.After(c.NotAfter):
			ended = append(ended, fmt.Sprintf("%s, until %s", who(c), stamp(c.NotAfter)))
		case !signs(c):
			barren = append(barren, who(c))
		}
	}
	a.warn(log, "authorities have expired, clients of them are refused", ended)
	a.warn(log, "certificates among the authorities are no authorities, they let in who shows them and nobody else", barren)
}

// maxNames is how many certificates one line names.
const maxNames = 10

func (a Authorities) warn(log *zap.Logger, message string, names []string) {
	if len(names) == 0 {
		return
	}
	log.Warn(message, zap.String("setting", a.bundle.setting), zap.String("file", a.bundle.file),
		zap.Int("count", len(names)), zap.Strings("certificates", names[:min(len(names), maxNames)]))
}

// signs says whether others can be issued by a certificate, in the eyes of whoever
// verifies them: those of before version 3 have no word for it.
func signs(c *x509.Certificate) bool {
	if c.Version >= 3 && !c.BasicConstraintsValid || c.BasicConstraintsValid && !c.IsCA {
		return false
	}
	return c.KeyUsage == 0 || c.KeyUsage&x509.KeyUsageCertSign != 0
}

// who names a certificate for a person.
func who(c *x509.Certificate) string {
	if name := c.Subject.String(); name != "" {
		return name
	}
	return "serial " + c.SerialNumber.Text(16)
}

// earlier and later pass over what is not set.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
