package broker_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/kafka"
)

// Where many log-ins have failed, an address is held back as
// max.failed.logins.per.ip says, at the listeners and at the pages, but not who has
// logged in.
func TestFailuresOfAnAddress(t *testing.T) {
	web := filepath.Join(t.TempDir(), "web.yml")
	rewrite(t, web, webFile(t, "p-secret"))
	b, _ := startWithFile(t, credentials(t, bob, carol), func(c *broker.Config) {
		c.Network.FailedLoginsPerIP, c.HTTP.File = 2, web
	})
	visit := func(user, password string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, "http://"+b.HTTP+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(user, password)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	dialAs(t, b.SASL, "bob", "b-secret")
	for _, name := range []string{"x", "y"} {
		if got := dial(t, b.SASL).logIn(name, "guess"); got != kafka.SASLAuthenticationFailed {
			t.Errorf("%s: %s", name, got)
		}
	}
	dialAs(t, b.SASL, "bob", "b-secret")
	if got := dial(t, b.SASL).arrive(carol); got != kafka.SASLAuthenticationFailed {
		t.Errorf("carol, who was not here before: %s", got)
	}
	for _, c := range []struct {
		user, password string
		want           int
	}{{"prom", "p-secret", 200}, {"x", "guess", 401}, {"y", "guess", 401}, {"z", "guess", 429}, {"prom", "p-secret", 200}} {
		if got := visit(c.user, c.password); got != c.want {
			t.Errorf("%s: %d, want %d", c.user, got, c.want)
		}
	}
}

// There are as many connections to the pages as http.max.connections says.
func TestConnectionsToThePages(t *testing.T) {
	b := brokertest.Start(t, func(c *broker.Config) { c.HTTP.MaxConnections = 1 })
	visit := func() (net.Conn, *bufio.Reader) {
		t.Helper()
		nc, err := net.Dial("tcp", b.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		if err := nc.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		io.WriteString(nc, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
		in := bufio.NewReader(nc)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return nc, in
	}
	_, first := visit()
	visit()
	if _, err := first.ReadByte(); err != io.EOF {
		t.Errorf("the first connection is still open: %v", err)
	}
}
