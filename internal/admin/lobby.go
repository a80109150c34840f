package admin

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// MaxConnections is how many connections to the pages there are at once where
// nothing else is said.
const MaxConnections = 256

// lobby is a listener with a bound on open connections. Once it is full a newcomer
// takes the place of another: of the address that has most, of those the one that
// has waited longest without a request, else the one with the oldest request. So
// somebody who opens connections and keeps them pushes out himself, and a scrape
// finds a place.
type lobby struct {
	net.Listener
	limit int
	log   *zap.Logger

	mu     sync.Mutex
	guests map[*guest]struct{}
	told   server.Repeats
}

func newLobby(l net.Listener, limit int, log *zap.Logger) *lobby {
	return &lobby{Listener: l, limit: limit, log: log, guests: map[*guest]struct{}{}}
}

// guest is one connection.
type guest struct {
	net.Conn
	lobby *lobby
	from  netip.Prefix // not valid: no address
	busy  bool         // a request is read or answered
	since time.Time    // it is so
}

// Accept waits for a connection.
func (l *lobby) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	addr, _ := netip.ParseAddr(hostOf(nc.RemoteAddr().String()))
	g := &guest{Conn: nc, lobby: l, from: kafka.Network(addr), since: time.Now()}
	if last := l.enter(g); last != nil {
		last.Close()
		if suppressed, ok := l.told.Allow("full", "", g.since); ok {
			l.log.Warn("http connection closed for a new one (http.max.connections)", zap.Stringer("peer", last.RemoteAddr()),
				zap.Int("http.max.connections", l.limit), zap.Int("suppressed", suppressed))
		}
	}
	return g, nil
}

// enter takes a guest in, and gives the one who has to go.
func (l *lobby) enter(g *guest) (last *guest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.guests) >= l.limit {
		last = l.last(g.from)
		delete(l.guests, last)
	}
	l.guests[g] = struct{}{}
	return last
}

// last is who goes first, where one more comes from an address.
func (l *lobby) last(from netip.Prefix) *guest {
	crowd := map[netip.Prefix]int{from: 1}
	for g := range l.guests {
		crowd[g.from]++
	}
	var last *guest
	for g := range l.guests {
		if last == nil || g.before(last, crowd) {
			last = g
		}
	}
	return last
}

// before says whether a guest goes before another.
func (g *guest) before(other *guest, crowd map[netip.Prefix]int) bool {
	if here, there := crowd[g.from], crowd[other.from]; here != there {
		return here > there
	}
	if g.busy != other.busy {
		return other.busy
	}
	return g.since.Before(other.since)
}

// Close lets the guest go.
func (g *guest) Close() error {
	g.lobby.mu.Lock()
	delete(g.lobby.guests, g)
	g.lobby.mu.Unlock()
	return g.Conn.Close()
}

// moved is told what becomes of connections.
func (l *lobby) moved(nc net.Conn, state http.ConnState) {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	if m, ok := nc.(*modestConn); ok {
		if state == http.StateActive {
			m.greeted()
		}
		nc = m.Conn
	}
	g, ok := nc.(*guest)
	if !ok || state != http.StateActive && state != http.StateIdle {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g.busy, g.since = state == http.StateActive, time.Now()
}
