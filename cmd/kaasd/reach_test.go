package main

import (
	"context"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A peer that hangs up at once, as one does that wants TLS, is told after a few
// tries.
func TestReachWhoHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials, began := 0, time.Now()
		client, err := kgo.NewClient(kgo.SeedBrokers("there:9092"), kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
			dials++
			ours, theirs := net.Pipe()
			go func() {
				theirs.Read(make([]byte, 1024))
				theirs.Close()
			}()
			return ours, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		err = reach(t.Context(), client, "there:9092")
		if err == nil || !strings.HasPrefix(err.Error(), "cannot reach there:9092: it closes the connection (") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); dials != maxClosings || took >= time.Second {
			t.Errorf("%d connections in %v", dials, took)
		}
	})
}

// transport is who carries requests.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// The time is told of a page that has used it up, and of none else.
func TestPageOutOfReach(t *testing.T) {
	mute := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	nobody := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	for want, by := range map[string]transport{
		"cannot reach there:9308 in 5s (is kaasd running? --http names another)": mute,
		"cannot reach there:9308 (is kaasd running? --http names another)":       nobody,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &pages{client: &http.Client{Transport: by}, base: "http://there:9308"}
			if _, err := p.get(t.Context(), "/v1/status", reachTimeout); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}
