package server

import "golang.org/x/sys/unix"

// acknowledged is how many bytes the peer has acknowledged since the connection
// began; 0 where the kernel does not say.
func (c *conn) acknowledged() uint64 {
	if c.raw == nil {
		return 0
	}
	bytes := uint64(0)
	_ = c.raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			bytes = info.Bytes_acked
		}
	})
	return bytes
}
