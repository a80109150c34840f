package admin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/certificate/certificatetest"
)

// TestHandshakesTakeTurns: while one connection calculates another waits, until the
// first wants more, answers, is closed or has a request.
func TestHandshakesTakeTurns(t *testing.T) {
	buffer := make([]byte, 1)
	for name, end := range map[string]func(c *modestConn){
		"wants more":                func(c *modestConn) { go c.Read(buffer) },
		"answers":                   func(c *modestConn) { go c.Write(buffer) },
		"is closed":                 func(c *modestConn) { c.Close() },
		"has a request":             func(c *modestConn) { c.greeted() },
		"has a request, and closes": func(c *modestConn) { c.greeted(); c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := make(chan struct{}, 1)
				begin := func() (*modestConn, net.Conn, chan struct{}) {
					near, far := net.Pipe()
					c, read := &modestConn{Conn: near, turns: turns}, make(chan struct{})
					go func() {
						_, _ = c.Read(make([]byte, 1))
						close(read)
					}()
					_, _ = far.Write([]byte{1})
					synctest.Wait()
					return c, far, read
				}
				first, firstPeer, read := begin()
				<-read
				second, secondPeer, read := begin()
				select {
				case <-read:
					t.Error("both calculate at once")
				default:
				}
				end(first)
				<-read // or the bubble is stuck, and the test fails
				second.Close()
				if len(turns) != 0 {
					t.Error("a turn is kept")
				}
				first.Close()
				firstPeer.Close()
				secondPeer.Close()
			})
		})
	}
}

// TestClosedWhileItWaitsForATurn: nobody reads or writes then, so the turn is given
// back at once.
func TestClosedWhileItWaitsForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := &modestConn{Conn: near, turns: make(chan struct{}, 1)}
		c.turns <- struct{}{} // another's
		go c.Read(make([]byte, 1))
		_, _ = far.Write([]byte{1})
		synctest.Wait()
		c.Close()
		<-c.turns
		synctest.Wait()
		if len(c.turns) != 0 {
			t.Error("the turn is kept")
		}
	})
}

// TestRequestsTakeNoTurns: while requests are answered, more of them than there are
// processors, others shake hands.
func TestRequestsTakeNoTurns(t *testing.T) {
	authority := certificatetest.NewAuthority(t, "pages")
	dir := t.TempDir()
	authority.Issue(t, pkix.Name{}, nil).Write(t, dir)
	path := filepath.Join(dir, "web.yml")
	put(t, path, "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	config := &tls.Config{RootCAs: roots, ServerName: "localhost"}
	deps, address, deep := house(), "", cap(newModest(nil).turns)
	post := func() {
		deep--
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", address, config)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "POST /-/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\n") // and the body does not come, which would end a turn
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
	deps.Reload = func(context.Context) (string, error) { // each is asked for while the one before is answered
		if deep >= 0 {
			post()
		}
		return "", nil
	}
	address = running(t, New(Options{Listen: "127.0.0.1:0", Lifecycle: true, Gate: mustOpen(t, path, zap.NewNop())}, deps, zap.NewNop()))
	post()
	if deep >= 0 {
		t.Errorf("%d more were to be asked for", deep+1)
	}
}
