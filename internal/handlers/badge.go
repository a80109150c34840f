package handlers

import (
	"crypto/x509"
	"errors"
	"fmt"

	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// badge is what a client's certificate says of who it is.
type badge struct {
	name string // its subject, as ssl.principal.mapping.rules turn it
	cn   string // the common name of its subject, the most specific one; "": none
}

// badgeOf reads the certificate of a connection. There is none where the client
// showed none, and where a log-in comes: that says who it is then, as in Kafka.
func (h *Handlers) badgeOf(c server.Conn) (*badge, error) {
	if c.TLS == nil || len(c.TLS.PeerCertificates) == 0 || c.Listener.Protocol.SASL() {
		return nil, nil
	}
	if len(c.TLS.VerifiedChains) == 0 {
		return nil, errors.New("the client's certificate was not verified")
	}
	b, err := h.readBadge(c.TLS.PeerCertificates[0])
	h.metrics.logins.WithLabelValues(c.Listener.Name, byCertificate, resultOf(err)).Inc()
	return b, err
}

func (h *Handlers) readBadge(cert *x509.Certificate) (*badge, error) {
	name, err := h.CertificateNames.Principal(cert)
	if u, ok := h.Credentials().ByTLSCN(cert.Subject.CommonName); ok && err != nil {
		return nil, fmt.Errorf("%w (its common name is the tlsCN of user %.256q, which counts where a rule makes a name of the subject, such as DEFAULT as the last one)", err, u.Username)
	}
	if err != nil {
		return nil, err
	}
	return &badge{name: name, cn: cert.Subject.CommonName}, nil
}

// bearer is the principal of who shows the badge: the user of the credentials
// file whose tlsCN it is, by the name or else by the common name, or else the
// name itself.
func (b *badge) bearer(users *credstore.Snapshot) kafka.Principal {
	for _, name := range []string{b.name, b.cn} {
		if u, ok := users.ByTLSCN(name); ok {
			return kafka.User(u.Username)
		}
	}
	return kafka.User(b.name)
}

var errMoved = errors.New("the credentials file has changed whose certificate this is")

// meet looks once more, at the first frame, at whose certificate it is: a change
// of the credentials file after that finds the session, and one before may have
// come too early to find it.
func (s *session) meet() error {
	if s.met {
		return nil
	}
	s.met = true
	if s.moved(s.h.Credentials()) {
		return errMoved
	}
	return nil
}

// moved says whether the certificate of the session is somebody else's by now.
func (s *session) moved(users *credstore.Snapshot) bool {
	return s.badge != nil && s.badge.bearer(users) != s.principal()
}

// Outcasts matches the sessions that end with a change of the credentials file:
// those of users who have left it or changed their authType, unless they have a
// credential of the Kafka API, and those whose certificate means another user
// than it did.
func (h *Handlers) Outcasts(old, next *credstore.Snapshot) func(server.Session) bool {
	gone := map[string]bool{}
	for _, name := range credstore.Expelled(old, next) {
		gone[name] = !h.Metadata.Image().HasScram(name)
	}
	return func(s server.Session) bool {
		own, ok := s.(*session)
		if !ok {
			return false
		}
		user, ok := LoggedIn(s)
		return ok && gone[user] || own.moved(next)
	}
}
