package handlers

import (
	"net"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/auth"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
	"kaasd/internal/server"
)

// session is one connection: who is on the other end, and the call that is
// being served. Its methods are called one at a time; only LoggedIn may look at
// the login from elsewhere, and Sent may come beside a later request.
type session struct {
	h       *Handlers
	conn    server.Conn
	host    string                // of the peer, as ACLs name it
	login   atomic.Pointer[login] // nil: not logged in
	sasl    saslExchange
	renewed time.Time // when the last new log-in began
	badge   *badge    // what the client's certificate says; nil: there is none, or it does not count
	met     bool      // a frame has come
	call    call      // the one in service

	client   *quota.Client // of clientID
	clientID string
	joined   joined
	members  []membership // that have spoken here
	unpaid   atomic.Int64 // ns of work that the next request is charged
}

// login is what made the session somebody's: a SASL log-in that succeeded, or a
// certificate.
type login struct {
	principal kafka.Principal
	sasl      bool
	at        time.Time // of a SASL log-in
}

var _ server.Session = (*session)(nil)

func newSession(h *Handlers, c server.Conn) (*session, error) {
	host, _, err := net.SplitHostPort(c.Remote.String())
	if err != nil {
		host = c.Remote.String()
	}
	s := &session{h: h, conn: c, host: auth.Host(host)}
	s.conn.TLS = nil // some KiB, which nobody asks for later
	if s.badge, err = h.badgeOf(c); err != nil {
		return nil, err
	}
	if s.badge != nil {
		s.login.Store(&login{principal: s.badge.bearer(h.Credentials())})
	}
	return s, nil
}

// Established says whether the session is past authentication.
func (s *session) Established() bool {
	return !s.conn.Listener.Protocol.SASL() || s.login.Load() != nil
}

// Name is that of the principal; empty: anybody's.
func (s *session) Name() string {
	if l := s.login.Load(); l != nil && l.principal != kafka.Anonymous {
		return l.principal.Name
	}
	return ""
}

func (s *session) principal() kafka.Principal {
	if l := s.login.Load(); l != nil {
		return l.principal
	}
	return kafka.Anonymous
}

// caller is who the authorizer is asked about.
func (s *session) caller() auth.Caller { return auth.Caller{Principal: s.principal(), Host: s.host} }

// LoggedIn is the user that a session has logged in as through SASL, so that
// the sessions of users who may no longer be here can be closed.
func LoggedIn(s server.Session) (user string, ok bool) {
	own, ok := s.(*session)
	if !ok {
		return "", false
	}
	l := own.login.Load()
	if l == nil || !l.sasl {
		return "", false
	}
	return l.principal.Name, true
}

// quotaClient is what requests with a client id are charged to. Connections
// use one client id, so the last one is remembered.
func (s *session) quotaClient(clientID string) *quota.Client {
	if s.client == nil || s.clientID != clientID {
		s.clientID = clientID
		s.client = s.h.Quotas.Client(s.principal().Name, clientID)
	}
	return s.client
}

// who tells a log line whose request it is about.
func (s *session) who() []zap.Field {
	return []zap.Field{
		zap.Stringer("principal", s.principal()),
		zap.Stringer("peer", s.conn.Remote),
		zap.String("listener", s.conn.Listener.Name),
		zap.String("client_id", kafka.Label(s.call.header.ClientID)), // up to 32 KiB
	}
}
