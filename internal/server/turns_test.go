package server

import (
	"testing"
	"testing/synctest"
)

// TestClosingTakesTurns: peers that all go at the same moment are put away in turn,
// and who is still there is served meanwhile.
func TestClosingTakesTurns(t *testing.T) {
	const many = 100
	bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
		for range cap(r.closing.Turns) {
			r.closing.Take()
		}
		stays := r.pipe()
		for range many {
			r.pipe().Close()
		}
		synctest.Wait()
		if n := r.open(); n != many+1 {
			t.Errorf("%d connections are open without a turn to close them, want %d", n, many+1)
		}
		go stays.send(framed([]byte("abcdefgh")))
		if got := string(stays.receive()); got != "abcdefgh" {
			t.Errorf("got %q", got)
		}
		for range cap(r.closing.Turns) {
			r.closing.Pass()
		}
		synctest.Wait()
		if n := r.open(); n != 1 {
			t.Errorf("%d connections are open, want 1", n)
		}
	})
}

// TestNoTurnForSlowPeers: who waits for a peer to take the end of TLS has none.
func TestNoTurnForSlowPeers(t *testing.T) {
	o, config := secret(t)
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		c := r.pipe().encrypted(config)
		go c.send(framed([]byte("abcdefgh")))
		c.receive()
		go c.send([]byte{0xff, 0xff, 0xff, 0xff}) // the connection ends, and c takes nothing any more
		synctest.Wait()
		if n := r.open(); n != 1 || len(r.closing.Turns) != 0 {
			t.Errorf("%d connections are open, want 1 that says the end of TLS, with %d turns taken", n, len(r.closing.Turns))
		}
	})
}
