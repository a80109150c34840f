package server

import "golang.org/x/sys/unix"

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
