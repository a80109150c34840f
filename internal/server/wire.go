package server

import (
	"net"
	"sync/atomic"
	"time"
)

// wire is the socket below TLS. A write that runs into its deadline spoils a TLS
// connection for good, so deadlines that fire while the peer still takes bytes
// are dealt with here, where outlet does it on a plain connection.
type wire struct {
	net.Conn
	conn  *conn
	heard bool        // a byte has come; before the handshake ends only its goroutine asks
	last  atomic.Bool // only the end of TLS is written from now on: nobody waits long for it
}

// Read notes that there was something.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.heard = w.heard || n > 0
	return n, err
}

// Write sends all of p, as long as the peer takes bytes.
func (w *wire) Write(p []byte) (int, error) {
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
		if err := w.conn.goOn(err, n > 0, &progress); err != nil {
			return sent, err
		}
	}
}
