package server

import (
	"context"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

// fillSocket writes as much as the kernel takes at once.
func (c *conn) fillSocket() {
	_ = c.raw.Control(func(fd uintptr) {
		for {
			if _, err := unix.Write(int(fd), make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
}

// TestTaken: that the kernel had room is not mistaken for a peer that takes bytes.
func TestTaken(t *testing.T) {
	var served *conn
	met := make(chan bool)
	h := &handler{}
	r := start(t, testOptions(), h)
	h.serve = func(context.Context, *Request) (Answer, error) {
		served = r.connections()[0]
		met <- true
		<-met
		return Answer{Alone: true}, nil
	}
	c := r.dial()
	c.send(framed(nil))
	<-met
	served.fillSocket()
	eventually(t, "the peer has taken some", func() bool { return served.acknowledged() > 0 })
	if served.took(true) {
		t.Error("the first look has something to compare with")
	}
	eventually(t, "the peer takes no more", func() bool {
		served.fillSocket()
		return !served.took(true)
	})
	go io.Copy(io.Discard, c)
	eventually(t, "the peer takes some", func() bool { return served.took(false) })
	met <- true
}
