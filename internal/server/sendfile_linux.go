package server

import (
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// SendFile sends size bytes of an open file from pos on without bringing them
// into memory. What was gathered before goes out first. It is
// errors.ErrUnsupported, and nothing of the file is sent, where the transport is
// no plain socket (TLS has to see the bytes) or the file cannot be sent from.
func (o *outlet) SendFile(fd uintptr, pos, size int64) (int64, error) {
	if _, plain := o.conn.nc.(*net.TCPConn); !plain || o.conn.raw == nil {
		return 0, errors.ErrUnsupported
	}
	if size > int64(o.left) {
		return 0, o.tooLong(size)
	}
	if err := o.flush(); err != nil {
		return 0, err
	}
	sent, err := o.sendFile(int(fd), pos, size)
	o.left -= int(sent)
	return sent, err
}

// sendFile sends all of the range.
func (o *outlet) sendFile(fd int, pos, size int64) (sent int64, err error) {
	progress := o.clock
	defer func() { o.worked(int(sent)) }()
	for {
		n, err := o.conn.sendFile(fd, pos+sent, size-sent)
		sent += n
		if err == nil || sent == 0 && cannotSend(err) {
			return sent, err
		}
		if err := o.conn.goOn(err, n > 0, &progress); err != nil {
			return sent, err
		}
	}
}

// sendFile is one call, as a Write is: it ends with all bytes sent, a deadline
// or an error.
func (c *conn) sendFile(fd int, pos, size int64) (sent int64, err error) {
	at := pos
	waited := c.raw.Write(func(socket uintptr) (done bool) {
		for at < pos+size && err == nil {
			var n int
			switch n, err = unix.Sendfile(int(socket), fd, &at, int(pos+size-at)); {
			case err == unix.EAGAIN:
				err = nil
				return false
			case err == unix.EINTR:
				err = nil
			case err == nil && n == 0:
				err = io.ErrUnexpectedEOF
			case err != nil && cannotSend(err):
				err = errors.ErrUnsupported
			}
		}
		return true
	})
	if err == nil {
		err = waited
	}
	return at - pos, err
}

// cannotSend says whether a file has to be read instead.
func cannotSend(err error) bool {
	return err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP || err == errors.ErrUnsupported
}
