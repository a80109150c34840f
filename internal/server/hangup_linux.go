package server

import "golang.org/x/sys/unix"

// hangups hears of peers that close their side, from one epoll instance that
// every connection is registered with once. The end of a stream is heard
// whatever waits in the socket before it; bytes that arrive are not.
type hangups struct {
	epoll  int
	events [128]unix.EpollEvent
}

// newHangups says nil where there can be none.
func newHangups() *hangups {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	return &hangups{epoll: epoll}
}

// watch registers a connection until its socket is closed, and says whether
// it could.
func (h *hangups) watch(c *conn) bool {
	if h == nil || c.raw == nil {
		return false
	}
	// Edge triggered, so that a peer that has closed its side and is still
	// served is heard of once.
	event := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(c.id), Pad: int32(c.id >> 32)}
	var err error
	failed := c.raw.Control(func(fd uintptr) {
		err = unix.EpollCtl(h.epoll, unix.EPOLL_CTL_ADD, int(fd), &event)
	})
	return failed == nil && err == nil
}

// heard appends the ids of the connections whose peers have closed their side
// or reset since the last call.
func (h *hangups) heard(to []uint64) []uint64 {
	if h == nil {
		return to
	}
	for {
		n, err := unix.EpollWait(h.epoll, h.events[:], 0)
		if err == unix.EINTR {
			continue
		}
		for _, e := range h.events[:max(n, 0)] {
			to = append(to, uint64(uint32(e.Pad))<<32|uint64(uint32(e.Fd)))
		}
		if n < len(h.events) {
			return to
		}
	}
}

// close comes after every watch.
func (h *hangups) close() {
	if h != nil {
		unix.Close(h.epoll)
	}
}

// hungUp says whether the peer has closed its side, whatever still waits in the
// socket.
func (c *conn) hungUp() bool {
	gone := false
	_ = c.raw.Control(func(fd uintptr) {
		look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if n, err := unix.Poll(look, 0); err == nil && n > 0 {
			gone = look[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
		}
	})
	return gone
}
