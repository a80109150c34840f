package server

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestVanishedPeersAreFound: a peer that goes without a word, as when its network
// does, is asked for by the kernel after minutes at the latest.
func TestVanishedPeersAreFound(t *testing.T) {
	r := start(t, testOptions(), &handler{serve: echo})
	c := r.dial()
	c.send(framed([]byte("a")))
	c.receive()
	for _, served := range r.connections() {
		err := served.raw.Control(func(fd uintptr) {
			on, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE)
			if err != nil || on != 1 {
				t.Errorf("keepalive: %d, %v", on, err)
			}
			seconds := 0
			for option, times := range map[int]int{unix.TCP_KEEPIDLE: 1, unix.TCP_KEEPINTVL: 9} {
				n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
				if err != nil {
					t.Error(err)
				}
				seconds += n * times
			}
			if seconds > 300 {
				t.Errorf("given up after %d s", seconds)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
	if len(r.connections()) != 1 {
		t.Errorf("%d connections", len(r.connections()))
	}
}
