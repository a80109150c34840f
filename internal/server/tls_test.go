package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// fixed is a TLSSource that never changes.
type fixed struct{ config *tls.Config }

func (f fixed) Config() *tls.Config { return f.config }

// newCertificate makes a certificate that signs itself, for the names.
func newCertificate(t testing.TB, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: names[0]},
		DNSNames:     names,
		NotBefore:    time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), // bubbles live in 2000
		NotAfter:     time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// secret are the options of a server with one TLS listener for
// kafka.example and *.pods.example, and what its clients need.
func secret(t testing.TB) (Options, *tls.Config) {
	t.Helper()
	pair := newCertificate(t, "kafka.example", "*.pods.example")
	o := testOptions()
	o.Listeners[0] = Listener{
		Name: "SSL", Protocol: SSL, Address: "127.0.0.1:0", Host: "127.0.0.1",
		TLS: fixed{&tls.Config{Certificates: []tls.Certificate{pair}}},
	}
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	return o, &tls.Config{RootCAs: roots, ServerName: "kafka.example"}
}

// encrypted puts TLS over a client's connection.
func (c *client) encrypted(config *tls.Config) *client {
	return &client{tls.Client(c.Conn, config), c.t}
}

func TestTLSEcho(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			o, config := secret(t)
			config.MinVersion, config.MaxVersion = version, version
			r := start(t, o, &handler{serve: echo})
			c := r.dial().encrypted(config)
			for _, size := range []int{0, 4, 508, 4097, 16384, 262145, 5<<20 + 3} {
				body := bytes.Repeat([]byte{byte(size)}, size)
				go c.Write(framed(body))
				if !bytes.Equal(c.receive(), body) {
					t.Errorf("frame of %d bytes came back as another", size)
				}
			}
			if n := r.value("kaasd_tls_handshakes_total", "SSL", "success"); n != 1 {
				t.Errorf("got %v handshakes, want 1", n)
			}
			if got := c.Conn.(*tls.Conn).ConnectionState().Version; got != version {
				t.Errorf("got TLS %x, want %x", got, version)
			}
		})
	}
}

// logged are the options' server on loopback, with what it logs.
func logged(t *testing.T, o Options, h Handler) (*rig, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r := prepare(t, o, h, zap.New(core))
	if err := r.Listen(); err != nil {
		t.Fatal(err)
	}
	r.run()
	return r, logs
}

// reasons are the errors of the lines with the message.
func reasons(logs *observer.ObservedLogs, message string) []string {
	var all []string
	for _, e := range logs.FilterMessage(message).All() {
		all = append(all, fmt.Sprint(e.ContextMap()["error"]))
	}
	return all
}

func TestWhatIsNotAHandshake(t *testing.T) {
	const failed, foreign = "TLS handshake failed", "not a client of TLS, connection closed"
	tests := map[string]struct{ sent, message, why string }{
		"plain client":     {"\x00\x00\x00\x14\x00\x12\x00\x00\x00\x00\x00\x01", foreign, "a client without TLS on a port with TLS (security.protocol of the client): tls: first record does not look like a TLS handshake"},
		"HTTP":             {"GET / HTTP/1.1\r\n\r\n", foreign, "HTTP on a port of Kafka (http.listen is the one for browsers): tls: first record does not look like a TLS handshake"},
		"noise":            {"\xffhello world", foreign, "something else than TLS: tls: first record does not look like a TLS handshake"},
		"oversized record": {"\x16\x03\x01\xff\xff\x01\x00", failed, "a record that is none of TLS: tls: oversized record received with length 65535"},
		"cut off":          {"\x16\x03\x01\x00", failed, "the peer went away in the middle of it"},
		"long hello":       {"\x16\x03\x01\x00\x04\x01\xff\xff\xff", failed, "tls: handshake message of length 16777215 bytes exceeds maximum of 65536 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, _ := secret(t)
			r, logs := logged(t, o, &handler{serve: echo})
			c := r.dial()
			c.send([]byte(test.sent))
			c.Conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
			eventually(t, "it is told", func() bool { return logs.Len() > 1 }) // after: listening
			if n := r.value("kaasd_tls_handshakes_total", "SSL", "failure"); n != 1 {
				t.Errorf("got %v failures, want 1", n)
			}
			if diff := cmp.Diff([]string{test.why}, reasons(logs, test.message)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestProbesAreNoHandshakes: health checks that connect and go are not failures.
func TestProbesAreNoHandshakes(t *testing.T) {
	o, _ := secret(t)
	r, logs := logged(t, o, &handler{serve: echo})
	r.dial().Close()
	eventually(t, "it came and went", func() bool {
		return r.value("kaasd_connections_accepted_total", "SSL") == 1 && r.Connections() == 0
	})
	if n := r.value("kaasd_tls_handshakes_total", "SSL", "failure"); n != 0 {
		t.Errorf("got %v failures, want 0", n)
	}
	if got := reasons(logs, "TLS handshake failed"); got != nil {
		t.Errorf("got %q in the log", got)
	}
}

func TestTLSOnAPlainPort(t *testing.T) {
	r, logs := logged(t, testOptions(), &handler{serve: echo})
	if err := tls.Client(r.dial().Conn, &tls.Config{InsecureSkipVerify: true}).Handshake(); err == nil {
		t.Error("hands were shaken")
	}
	eventually(t, "it is told", func() bool { return logs.Len() > 1 })
	if diff := cmp.Diff([]string{"TLS on a port without TLS (security.protocol of the client)"}, reasons(logs, "not a frame of Kafka, connection closed")); diff != "" {
		t.Error(diff)
	}
}

// TestSlowHandshake: who does not finish has no longer than to log in.
func TestSlowHandshake(t *testing.T) {
	o, _ := secret(t)
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		began := time.Now()
		c := r.pipe()
		c.send([]byte("\x16\x03\x01\x01\x00")) // a record of 256 bytes, one every second
		var sending sync.WaitGroup
		defer sending.Wait()
		sending.Go(func() {
			for {
				time.Sleep(time.Second)
				if _, err := c.Write([]byte{1}); err != nil {
					return
				}
			}
		})
		c.closed()
		if took := time.Since(began); took != o.LoginTimeout {
			t.Errorf("closed after %v, want %v", took, o.LoginTimeout)
		}
		if n := r.value("kaasd_tls_handshakes_total", "SSL", "failure"); n != 1 {
			t.Errorf("got %v failures, want 1", n)
		}
	})
}

// TestHandshakesTakeTurns: while others calculate, a handshake that has been
// heard waits; peers that say nothing hold no turn.
func TestHandshakesTakeTurns(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			o, config := secret(t)
			config.MaxVersion = version
			bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
				for range 2 * cap(r.shaking) {
					r.pipe().send([]byte("\x16\x03\x01\x01\x00")) // and no more
				}
				synctest.Wait()
				if n := len(r.shaking); n != 0 {
					t.Errorf("%d turns are taken by handshakes that wait for their peer", n)
				}
				for range cap(r.shaking) {
					r.shaking.Take()
				}
				c := r.pipe().encrypted(config)
				answered := make(chan string, 1)
				go func() {
					c.Write(framed([]byte("secret")))
					answered <- string(c.receive())
				}()
				synctest.Wait()
				if n := r.value("kaasd_tls_handshakes_total", "SSL", "success"); n != 0 {
					t.Errorf("got %v handshakes without a turn", n)
				}
				for range cap(r.shaking) {
					r.shaking.Pass()
				}
				if got := <-answered; got != "secret" || len(r.shaking) != 0 {
					t.Errorf("got %q, and %d turns taken", got, len(r.shaking))
				}
			})
		})
	}
}

// TestHandshakesAtATime: 512 peers of as many addresses that say nothing keep the
// next one out of accept, and nobody from a listener without TLS. It waits until
// theirs have lasted long.
func TestHandshakesAtATime(t *testing.T) {
	o, config := secret(t)
	o.Listeners = append(o.Listeners, testOptions().Listeners[0])
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, o, &handler{serve: echo}, zap.NewNop())
		doors := make([]*pipes, 2)
		for i := range doors {
			doors[i] = &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
			r.doors[i].bound(doors[i])
		}
		r.run()
		for i := range o.Handshakes {
			r.pipeFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
		}
		began := time.Now()
		near, far := net.Pipe()
		c := &client{near, t}
		went := make(chan time.Duration, 1)
		go func() {
			doors[0].conns <- &hailing{far, netip.AddrFrom4([4]byte{10, 1, 0, 0})}
			went <- time.Since(began)
		}()
		synctest.Wait()
		if got := r.value("kaasd_connections_accepted_total", "SSL"); got != 512 || len(went) > 0 {
			t.Errorf("%v connections are accepted, want 512 and the next one not", got)
		}
		plain, there := net.Pipe()
		doors[1].conns <- there
		p := &client{plain, t}
		p.send(framed([]byte("plain")))
		if got := string(p.receive()); got != "plain" || time.Since(began) != 0 {
			t.Errorf("got %q after %v, want an answer at once", got, time.Since(began))
		}
		if waited := <-went; waited < hurried || waited > hurried+2*yieldEvery {
			t.Errorf("accepted after %v, want some %v", waited, hurried)
		}
		secret := c.encrypted(config)
		secret.send(framed([]byte("secret")))
		if got := string(secret.receive()); got != "secret" {
			t.Errorf("got %q", got)
		}
		near.Close()
		plain.Close()
		r.end()
	})
}

// deaf is a connection that takes no byte.
type deaf struct {
	net.Conn
	until chan struct{}
}

func (d *deaf) Read([]byte) (int, error) {
	<-d.until
	return 0, io.EOF
}

// TestWhoTakesNothingKeepsNoTurn: peers that send a hello and take no byte of the
// answer leave the others their turns.
func TestWhoTakesNothingKeepsNoTurn(t *testing.T) {
	o, config := secret(t)
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		var peers sync.WaitGroup
		defer peers.Wait()
		until := make(chan struct{})
		defer close(until)
		for range cap(r.shaking) {
			d := &deaf{r.pipe(), until}
			peers.Go(func() { _ = tls.Client(d, config).Handshake() })
			synctest.Wait()
		}
		began := time.Now()
		c := r.pipe().encrypted(config)
		c.send(framed([]byte("a")))
		c.receive()
		if took := time.Since(began); took != 0 {
			t.Errorf("an answer after %v, want at once", took)
		}
	})
}

// TestHandshakesGiveTheirSeatsBack: whatever comes of them.
func TestHandshakesGiveTheirSeatsBack(t *testing.T) {
	o, config := secret(t)
	o.Handshakes, o.MaxConnectionsPerIP = 1, 1
	r := start(t, o, &handler{serve: echo})
	for range 3 {
		c := r.dial().encrypted(config)
		c.send(framed([]byte("a")))
		c.receive()
		r.dial().closed() // one too many
		c.Close()
		eventually(t, "it is gone", func() bool { return r.Connections() == 0 })
		r.dial().Close()
		eventually(t, "it is gone", func() bool { return r.Connections() == 0 })
		bad := r.dial()
		bad.send([]byte("GET / HTTP"))
		io.Copy(io.Discard, bad)
		eventually(t, "it is gone", func() bool { return r.Connections() == 0 })
	}
}

// TestSlowReaderOverTLS: deadlines of writes that fire early do not spoil TLS,
// and a peer that takes nothing is closed.
func TestSlowReaderOverTLS(t *testing.T) {
	o, config := secret(t)
	body := bytes.Repeat([]byte("x"), 100<<10)
	answer := func(context.Context, *Request) (Answer, error) { return reply(body), nil }
	bubble(t, o, &handler{serve: answer}, func(t *testing.T, r *rig) {
		c := r.pipe().encrypted(config)
		c.send(framed(nil))
		got := make([]byte, 4+len(body))
		for at := 0; at < len(got)/2; {
			time.Sleep(o.WriteTimeout - time.Second)
			n, err := c.Read(got[at:min(at+16<<10, len(got))])
			if err != nil {
				t.Fatalf("after %d bytes: %v", at, err)
			}
			at += n
		}
		began := time.Now()
		time.Sleep(o.WriteTimeout + lingerTime + time.Second)
		synctest.Wait()
		if n := r.Connections(); n != 0 {
			t.Errorf("still open %v after the last byte was taken", time.Since(began))
		}
	})
}

func TestWhatClientsOfTLSAreTold(t *testing.T) {
	tests := map[string]struct {
		asks   string
		pinned bool
		want   string
	}{
		"the name of the certificate":   {"kafka.example", false, "kafka.example"},
		"a name that a wildcard covers": {"a.pods.example", false, "a.pods.example"},
		"another name":                  {"other.example", false, "127.0.0.1"},
		"no name":                       {"", false, "127.0.0.1"},
		"what the operator says":        {"kafka.example", true, "127.0.0.1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, config := secret(t)
			o.Listeners[0].Pinned = test.pinned
			config.ServerName, config.InsecureSkipVerify = test.asks, true
			met := make(chan Conn, 1)
			r := start(t, o, &meeting{handler{serve: echo}, met, nil})
			c := r.dial().encrypted(config)
			c.send(framed(nil))
			c.receive()
			got := <-met
			if got.Listener.Host != test.want || got.TLS == nil || got.TLS.ServerName != test.asks {
				t.Errorf("told %s after %v, want %s", got.Listener.Host, got.TLS, test.want)
			}
		})
	}
}

// meeting is a handler that shows the connections it gets, and may refuse them.
type meeting struct {
	handler
	met    chan Conn
	refuse error
}

func (m *meeting) Connect(c Conn) (Session, error) {
	if m.met != nil {
		m.met <- c
	}
	if m.refuse != nil {
		return nil, m.refuse
	}
	return m.handler.Connect(c)
}

// TestHandlerRefuses: a handshake may succeed for somebody nobody knows.
func TestHandlerRefuses(t *testing.T) {
	o, config := secret(t)
	r, logs := logged(t, o, &meeting{refuse: errors.New("no rule matches")})
	c := r.dial().encrypted(config)
	c.closed()
	eventually(t, "it is told", func() bool { return logs.Len() > 1 })
	if n := r.value("kaasd_tls_handshakes_total", "SSL", "success"); n != 1 {
		t.Errorf("got %v handshakes, want 1", n)
	}
	if diff := cmp.Diff([]string{"no rule matches"}, reasons(logs, "connection refused")); diff != "" {
		t.Error(diff)
	}
}

func TestPeerGoneWhileParkedOverTLS(t *testing.T) {
	o, config := secret(t)
	ended := make(chan error, 1)
	r := start(t, o, parking(ended))
	c := r.dial().encrypted(config)
	c.send(framed([]byte("park")))
	eventually(t, "it is parked", func() bool { return len(r.still(nil, nil)) == 1 })
	c.send(framed([]byte("more"))) // bytes before the end hide it from nobody
	c.Close()
	if err := <-ended; err == nil {
		t.Error("the request was not ended")
	}
}

// TestGoodbyeOverTLS: a stop ends TLS before it ends the connection.
func TestGoodbyeOverTLS(t *testing.T) {
	o, config := secret(t)
	r := start(t, o, &handler{serve: echo})
	c := r.dial().encrypted(config)
	c.send(framed(nil))
	c.receive()
	go r.end()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("got %d bytes and %v, want the end of TLS", n, err)
	}
}
