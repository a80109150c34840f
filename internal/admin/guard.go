package admin

import (
	"bytes"
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

// strict are the headers of every answer of ours. No page needs anything from elsewhere,
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
		unauthorized(w, "a user and a password are needed")
		return false
	}
	return g.logIn(w, r, l, user, password)
}

// logIn lets in who gives the right password, and holds back guesses.
func (g *Gate) logIn(w http.ResponseWriter, r *http.Request, l *lock, user, password string) bool {
	hash, known := l.users[user]
	if !known {
		hash = l.nobody
	}
	t := attempt{host: hostOf(r.RemoteAddr), user: user, known: known, key: sha256.Sum256(fmt.Appendf(nil, "%q %q %q", user, hash, password))}
	if shown(r).again(t.key) {
		return true
	}
	if wait := g.tries.Wait(t.host, user, time.Now()); wait > 0 {
		g.refuse(w, t, wait)
		return false
	}
	switch {
	case g.remembers(t.key):
	case g.tries.Held(t.host, time.Now()) > 0: // hashing would tell a name that goes on from those that do not
		g.fail(w, t)
		return false
	case !g.check(w, r, t, hash, password):
		return false
	case !bytes.Equal(g.current.Load().users[user], hash): // taken out while the password waited
		unauthorized(w, noSuchUser)
		return false
	}
	g.tries.Succeed(t.host, user, time.Now())
	g.remember(t.key)
	shown(r).keep(t.key)
	return true
}

// attempt is one log-in.
type attempt struct {
	host, user string
	known      bool              // the user is one
	key        [sha256.Size]byte // of the user, the hash and the password
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// check hashes one password at a time: as many at once as there are requests would
// take every core. What has failed meanwhile counts, and who does not wait for the
// answer has not tried.
func (g *Gate) check(w http.ResponseWriter, r *http.Request, t attempt, hash []byte, password string) bool {
	select {
	case g.turn <- struct{}{}:
	case <-r.Context().Done():
		return false
	}
	defer func() { <-g.turn }()
	if r.Context().Err() != nil { // select takes either
		return false
	}
	if wait := g.tries.Wait(t.host, t.user, time.Now()); wait > 0 {
		g.refuse(w, t, wait)
		return false
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || !t.known {
		g.fail(w, t)
		return false
	}
	return true
}

// refuse answers a log-in that was not looked at.
func (g *Gate) refuse(w http.ResponseWriter, t attempt, wait time.Duration) {
	tell, untold := g.tries.Refuse(t.host, t.user, time.Now())
	g.tellFailure(t, tell, untold)
	tooMany(w, wait)
}

// fail answers a log-in that was, as one that was not where the address is held
// back.
func (g *Gate) fail(w http.ResponseWriter, t attempt) {
	wait, tell, untold := g.tries.Fail(t.host, t.user, time.Now())
	g.tellFailure(t, tell, untold)
	if wait > 0 {
		tooMany(w, wait)
		return
	}
	unauthorized(w, noSuchUser)
}

// tellFailure tells the operator, of each address once in ten seconds, and only
// the names of users: what else is typed into that field may be a password.
func (g *Gate) tellFailure(t attempt, tell bool, untold int) {
	if !tell {
		return
	}
	fields := []zap.Field{zap.String("peer", t.host), zap.Int("suppressed", untold), zap.Bool("unknown_user", !t.known)}
	if t.known {
		fields = append(fields, zap.String("user", t.user))
	}
	g.log.Warn("http log-in failed", fields...)
}

func tooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	text(w, http.StatusTooManyRequests, "too many failed log-ins from this address\n")
}

// noSuchUser tells names that are known from others by nothing.
const noSuchUser = "a user of that name and password is not known"

func unauthorized(w http.ResponseWriter, why string) {
	w.Header().Set("WWW-Authenticate", `Basic realm="kaasd", charset="UTF-8"`)
	text(w, http.StatusUnauthorized, why+"\n")
}

func (g *Gate) remembers(key [sha256.Size]byte) bool {
	g.knownMu.Lock()
	defer g.knownMu.Unlock()
	return g.known[key]
}

func (g *Gate) remember(key [sha256.Size]byte) {
	g.knownMu.Lock()
	defer g.knownMu.Unlock()
	if len(g.known) >= maxKnown && !g.known[key] {
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
