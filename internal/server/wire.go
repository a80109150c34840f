package server

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// The most that TLS may take in, in bytes, before anything comes of it. It gathers
// messages of a handshake until they are whole, of up to 256 KiB, takes them after
// the handshake, too, and keeps the memory for as long as the connection lasts. Only
// where clients are asked for certificates they have much to say: a chain, of which
// those in Java send 32 KiB, or a ticket with the chain in it. Else nothing takes more
// than a record of 16 KiB and some small ones before it.
const (
	chainBytes  = 64 << 10
	recordBytes = 20 << 10
)

// handshakeBytes is what a handshake of the configuration may take.
func handshakeBytes(config *tls.Config) int {
	if config.ClientAuth == tls.NoClientCert {
		return recordBytes
	}
	return chainBytes
}

// wire is the socket below TLS. A write that runs into its deadline spoils a TLS
// connection for good, so deadlines that fire while the peer still takes bytes
// are dealt with here, where outlet does it on a plain connection.
type wire struct {
	net.Conn
	conn  *conn
	heard bool        // a byte has come; before the handshake ends only its goroutine asks
	left  int         // bytes that may still come; only the goroutine that reads asks
	turns Turns       // for what a handshake calculates; nil once it has ended
	taken bool        // a turn
	peer  peerTime    // of the handshake
	spoke bool        // something was written
	last  atomic.Bool // only the end of TLS is written from now on: nobody waits long for it
	ended error       // why nothing is written any more
}

var errHoarding = badFramef("more bytes of TLS than anybody needs, of which nothing comes")

// Read notes that there was something. What a handshake calculates of it takes a
// turn, which ends where it reads again.
func (w *wire) Read(p []byte) (int, error) {
	w.passTurn()
	if w.left <= 0 {
		return 0, errHoarding
	}
	n, err := w.Conn.Read(p[:min(len(p), w.left)])
	w.left -= n
	w.heard = w.heard || n > 0
	if n > 0 && w.turns != nil {
		w.peer.stand()
		w.turns.Take()
		w.taken = true
	}
	return n, err
}

func (w *wire) passTurn() {
	if w.taken {
		w.taken = false
		w.turns.Pass()
		w.peer.run()
	}
}

// Write sends all of p, as long as the peer takes bytes. A turn ends here, since
// one that takes none may keep us.
func (w *wire) Write(p []byte) (int, error) {
	if !w.spoke {
		w.spoke, w.peer.left = true, replyTime
	}
	w.passTurn()
	if w.ended != nil {
		return 0, w.ended // to a peer that takes nothing not even the end of TLS
	}
	if w.last.Load() {
		w.Conn.SetWriteDeadline(time.Now().Add(lingerTime))
		return w.Conn.Write(p)
	}
	progress, sent := time.Now(), 0
	for {
		n, err := w.Conn.Write(p[sent:])
		sent += n
		if err == nil {
			return sent, nil
		}
		if w.ended = w.conn.goOn(err, n > 0, &progress); w.ended != nil {
			return sent, w.ended
		}
	}
}
