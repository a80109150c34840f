package admin

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// from is a connection of an address that is not there.
type from struct {
	net.Conn
	address string
	closed  bool
}

func (f *from) RemoteAddr() net.Addr { return name(f.address) }
func (f *from) Close() error         { f.closed = true; return nil }

type name string

func (name) Network() string  { return "tcp" }
func (n name) String() string { return string(n) }

// queue is a listener of connections that are there already.
type queue chan net.Conn

func (q queue) Accept() (net.Conn, error) {
	nc, ok := <-q
	if !ok {
		return nil, net.ErrClosed
	}
	return nc, nil
}
func (q queue) Close() error   { close(q); return nil }
func (q queue) Addr() net.Addr { return name("queue") }

// A newcomer takes the place of one of the address that has most, longest without a
// request first.
func TestWhoGoesForANewcomer(t *testing.T) {
	for title, c := range map[string]struct {
		open  []string // a host, with ! while it has a request; the first is the oldest
		comes string
		goes  int
	}{
		"the address that has most":        {[]string{"10.0.0.1", "10.0.0.2", "10.0.0.2"}, "10.0.0.3", 1},
		"longest without a request":        {[]string{"10.0.0.2!", "10.0.0.2", "10.0.0.2"}, "10.0.0.3", 1},
		"the oldest request":               {[]string{"10.0.0.1", "10.0.0.2!", "10.0.0.2!"}, "10.0.0.3", 1},
		"who comes counts too":             {[]string{"10.0.0.1", "10.0.0.2", "10.0.0.3!"}, "10.0.0.3", 2},
		"networks of IPv6":                 {[]string{"10.0.0.1", "2001:db8::1", "2001:db8::2"}, "10.0.0.3", 1},
		"everybody has one: the oldest":    {[]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, "10.0.0.4", 0},
		"one address: not with a request":  {[]string{"10.0.0.1!", "10.0.0.1!", "10.0.0.1"}, "10.0.0.1", 2},
		"what is no address is one crowd":  {[]string{"10.0.0.1", "pipe", "@"}, "10.0.0.2", 1},
		"an IPv4 address in that of IPv6":  {[]string{"10.0.0.1", "::ffff:10.0.0.2", "10.0.0.2"}, "10.0.0.3", 1},
		"networks of IPv4 are of many":     {[]string{"10.0.0.1", "10.0.0.2", "10.0.0.3!"}, "10.0.0.4", 0},
		"addresses of an IPv6 /64 are one": {[]string{"2001:db8:0:1::1", "2001:db8::1", "2001:db8::ffff:1"}, "2001:db8:0:2::", 1},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core, lines := observer.New(zap.WarnLevel)
				q := make(queue, 1)
				l := newLobby(q, 3, zap.New(core))
				var all []*from
				come := func(host string) net.Conn {
					nc := &from{address: net.JoinHostPort(host, "4711")}
					all = append(all, nc)
					q <- nc
					in, err := l.Accept()
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
					return in
				}
				for _, host := range c.open {
					in := come(strings.TrimSuffix(host, "!"))
					if strings.HasSuffix(host, "!") {
						l.moved(in, http.StateActive)
					}
				}
				come(c.comes)
				for i, nc := range all {
					if nc.closed != (i == c.goes) {
						t.Errorf("%d, %s, is closed: %v", i, nc.address, nc.closed)
					}
				}
				if len(l.guests) != 3 || lines.Len() != 1 {
					t.Errorf("%d are in, and the log has %d lines", len(l.guests), lines.Len())
				}
			})
		})
	}
}

// One who opens connections and says nothing does not keep a scrape out, also from
// the same address.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	const limit = 8
	s := New(Options{Listen: "127.0.0.1:0", MaxConnections: limit}, house(), zap.NewNop())
	address := running(t, s)
	scraper := &http.Client{Transport: &http.Transport{}}
	defer scraper.CloseIdleConnections()
	for range 3 {
		for range 3 * limit {
			nc, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			fmt.Fprint(nc, "GET /metrics HTTP/1.1\r\n") // and no more
		}
		resp, err := scraper.Get("http://" + address + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		if resp.Body.Close(); resp.StatusCode != 200 {
			t.Errorf("got %d", resp.StatusCode)
		}
		s.listener.mu.Lock()
		if n := len(s.listener.guests); n > limit {
			t.Errorf("%d connections are open", n)
		}
		s.listener.mu.Unlock()
	}
}

// What counts is when a connection last had a request, not when it came.
func TestWhoHasAskedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{}, house(), zap.NewNop())
		q := make(queue)
		s.listener = newLobby(q, 2, zap.NewNop())
		h := s.receiver()
		go h.Serve(s.doorway())
		come := func() net.Conn {
			near, far := net.Pipe()
			q <- far
			synctest.Wait()
			time.Sleep(time.Second)
			return near
		}
		asks, silent := come(), come()
		go io.WriteString(asks, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
		if _, err := http.ReadResponse(bufio.NewReader(asks), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		late := come()
		if _, err := silent.Read(make([]byte, 1)); err != io.EOF || time.Since(began) > time.Second {
			t.Errorf("who never asked: %v, after %v", err, time.Since(began))
		}
		asks.Close()
		late.Close()
		h.Close()
	})
}

// Who is slow is waited for so long and no longer, whatever the step.
func TestTimeOfAConnection(t *testing.T) {
	for title, c := range map[string]struct {
		say    string
		hear   bool   // the answer is read
		answer string // what it begins with
		after  time.Duration
	}{
		"says nothing":               {"", true, "", headerTimeout},
		"headers without an end":     {"GET /livez HTTP/1.1\r\nHost: a\r\nX: ", true, "", headerTimeout},
		"a body that does not come":  {"POST /-/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", true, "HTTP/1.1 403", headerTimeout},
		"no second request":          {"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", true, "HTTP/1.1 200", idleTimeout},
		"does not take the answer":   {"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", false, "", answerTimeout},
		"headers that are too large": {"GET /livez HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", headerBytes+8192) + "\r\n\r\n", true, "HTTP/1.1 431", time.Second},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{}, house(), zap.NewNop())
				q := make(queue)
				s.listener = newLobby(q, 2, zap.NewNop())
				h := s.receiver()
				go h.Serve(s.doorway())
				near, far := net.Pipe()
				q <- far
				began := time.Now()
				go near.Write([]byte(c.say))
				if !c.hear {
					synctest.Wait()
					time.Sleep(answerTimeout + time.Second)
				} else if got, _ := io.ReadAll(bufio.NewReader(near)); !strings.HasPrefix(string(got), c.answer) || (c.answer == "") != (len(got) == 0) {
					t.Errorf("the answer is %.40q", got)
				}
				if took := time.Since(began); took > c.after+time.Second {
					t.Errorf("closed after %v, want %v", took, c.after)
				}
				synctest.Wait()
				if n := len(s.listener.guests); n != 0 {
					t.Errorf("%d connections are open", n)
				}
				near.Close()
				h.Close()
			})
		})
	}
}
