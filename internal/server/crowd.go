package server

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kaasd/internal/kafka"
)

// How long a handshake may keep its seat while another waits for one. What counts
// of those of a crowd is the time in which nothing is done here: it is the peer
// that has to go on.
const (
	// hurried is for all, from accept on.
	hurried = 3 * time.Second
	// helloTime is for the first message. Clients send it with the packet that
	// opens the connection, however far away they are.
	helloTime = 250 * time.Millisecond
	// replyTime is for what follows our first answer: one round trip, or two (TLS
	// 1.2, another group of keys), or some for a long chain of certificates. Four
	// of 300 ms are in it.
	replyTime = 1500 * time.Millisecond
)

// crowded is the part of all seats, 1 in so many, from which on an address is a
// crowd; leastCrowd is the least number.
const (
	crowded    = 16
	leastCrowd = 2
)

var (
	errHurried = errors.New("the handshake was not finished in 3 s, and others were waiting")
	errCrowded = errors.New("the handshake was slow, others were waiting, and many more of its address had seats")
)

// crowd knows the handshakes that go on, by address.
type crowd struct {
	large int // so many handshakes make an address a crowd
	mu    sync.Mutex
	rows  map[netip.Prefix][]*conn // those of an address, in the order they began
}

func newCrowd(seats int) crowd {
	return crowd{large: max(seats/crowded, leastCrowd), rows: map[netip.Prefix][]*conn{}}
}

func (w *crowd) enter(c *conn) {
	at := networkOf(c.socket.RemoteAddr())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[at] = append(w.rows[at], c)
}

func (w *crowd) leave(c *conn) {
	at := networkOf(c.socket.RemoteAddr())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(at, c)
}

// remove forgets a handshake, which may have been forgotten already.
func (w *crowd) remove(at netip.Prefix, c *conn) {
	row := w.rows[at]
	if i := slices.Index(row, c); i >= 0 {
		row = slices.Delete(row, i, i+1)
	}
	if len(row) == 0 {
		delete(w.rows, at)
		return
	}
	w.rows[at] = row
}

// pick takes out the handshake that gives its seat to another, and says why it
// has to; nil where none has. It is the oldest slow one of the largest crowd, or
// else the oldest of all that are hurried. Its work is one step for each address
// and each handshake of crowds.
func (w *crowd) pick(now time.Time) (*conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var slow, oldest *conn
	var of, from netip.Prefix
	most, then := w.large-1, now.Add(-hurried)
	for at, row := range w.rows {
		if first := row[0]; first.accepted.Before(then) {
			oldest, from, then = first, at, first.accepted
		}
		if len(row) <= most {
			continue
		}
		if i := slices.IndexFunc(row, func(c *conn) bool { return c.wire.peer.slow(now) }); i >= 0 {
			slow, of, most = row[i], at, len(row)
		}
	}
	switch {
	case slow != nil:
		w.remove(of, slow)
		return slow, errCrowded
	case oldest != nil:
		w.remove(from, oldest)
		return oldest, errHurried
	}
	return nil, nil
}

// networkOf is what counts as one address of a peer; all that have none are one.
func networkOf(a net.Addr) netip.Prefix {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return kafka.Network(tcp.AddrPort().Addr())
	}
	return netip.Prefix{}
}

// peerTime is the time a peer has in its handshake. It runs while we wait for
// bytes, and stands while we calculate or wait for a turn to.
type peerTime struct {
	left time.Duration // at the last start; only the handshake's goroutine asks
	ends atomic.Int64  // ns since the epoch; 0: it stands
}

func (p *peerTime) run() { p.ends.Store(time.Now().Add(p.left).UnixNano()) }

func (p *peerTime) stand() {
	p.left = time.Duration(p.ends.Swap(0) - time.Now().UnixNano())
}

// slow says whether the time has run out.
func (p *peerTime) slow(now time.Time) bool {
	ends := p.ends.Load()
	return ends != 0 && ends <= now.UnixNano()
}
