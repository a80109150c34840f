package main

import (
	"context"
	"net"
	"strings"
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
