package admin

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/crypto/bcrypt"

	"go.uber.org/zap"
)

// strict are the headers of every answer. No page needs anything from elsewhere,
// or may stand in somebody else's.
var strict = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// maxKnown is how many good log-ins are remembered, so that not every scrape is
// hashed.
const maxKnown = 64

// open are the pages that need no password: probes and load balancers cannot
// give one, and all they are told is whether to come.
func open(r *http.Request) bool {
	switch r.URL.Path {
	case "/livez", "/healthz", "/readyz":
		return r.URL.RawQuery == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	}
	return false
}

// guard answers those who may not come in.
func (g *Gate) guard(w http.ResponseWriter, r *http.Request) (in bool) {
	l := g.current.Load()
	for name, value := range l.headers {
		w.Header().Set(name, value)
	}
	if len(l.users) == 0 || open(r) {
		return true
	}
	user, password, given := r.BasicAuth()
	if !given {
		unauthorized(w)
		return false
	}
	return g.logIn(w, r, l, user, password)
}

func (g *Gate) logIn(w http.ResponseWriter, r *http.Request, l *lock, user, password string) bool {
	hash, known := l.users[user]
	if !known {
		hash = l.nobody
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", user, hash, password))
	if g.remembers(key) {
		return true
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if wait := g.tries.Wait(host, user, time.Now()); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		text(w, http.StatusTooManyRequests, "too many failed log-ins from this address\n")
		return false
	}
	if !g.compare(r, hash, password) || !known {
		g.tellFailure(host, user, known)
		unauthorized(w)
		return false
	}
	g.tries.Succeed(host, user)
	g.remember(key)
	return true
}

// compare hashes one password at a time: as many at once as there are requests
// would take every core.
func (g *Gate) compare(r *http.Request, hash []byte, password string) bool {
	select {
	case g.turn <- struct{}{}:
	case <-r.Context().Done():
		return false
	}
	defer func() { <-g.turn }()
	return bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil
}

// tellFailure tells the operator, of each address once in ten seconds, and only
// the names of users: what else is typed into that field may be a password.
func (g *Gate) tellFailure(host, user string, known bool) {
	tell, untold := g.tries.Fail(host, user, time.Now())
	if !tell {
		return
	}
	fields := []zap.Field{zap.String("peer", host), zap.Int("suppressed", untold), zap.Bool("unknown_user", !known)}
	if known {
		fields = append(fields, zap.String("user", user))
	}
	g.log.Warn("http log-in failed", fields...)
}

func unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="kaasd", charset="UTF-8"`)
	text(w, http.StatusUnauthorized, "a user and a password are needed\n")
}

func (g *Gate) remembers(key [sha256.Size]byte) bool {
	g.knownMu.Lock()
	defer g.knownMu.Unlock()
	return g.known[key]
}

func (g *Gate) remember(key [sha256.Size]byte) {
	g.knownMu.Lock()
	defer g.knownMu.Unlock()
	if len(g.known) >= maxKnown {
		clear(g.known)
	}
	g.known[key] = true
}

// config is that of the next handshake.
func (g *Gate) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return g.current.Load().tls, nil },
	}
}
