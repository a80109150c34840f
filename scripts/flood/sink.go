package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"sync/atomic"

	"kaasd/internal/kafka"

	"golang.org/x/sync/errgroup"
)

const (
	largestFrame = 100 << 20 // bytes, as socket.request.max.bytes of kaasd
	largestLogIn = 512 << 10 // bytes, as sasl.server.max.receive.size
	fetched      = 1 << 20   // bytes of the sink's answer to a fetch
	patient      = 1 << 10   // bytes of a fetch from which on it waits: the sink does not answer
	hello        = 4 << 10   // bytes of the sink's answer to a TLS handshake
)

// sink serves until its input ends, as many connections at once as its argument
// says; 0 is no limit. It prints the addresses where frames are read, twice, and
// where bytes are.
func sink(args []string, in io.Reader, out io.Writer) error {
	most, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if most == 0 {
		most = math.MaxInt
	}
	var held atomic.Int64
	var all errgroup.Group
	var open []net.Listener
	for _, serve := range []func(net.Conn){
		func(nc net.Conn) { frames(nc, largestFrame) },
		func(nc net.Conn) { frames(nc, largestLogIn) },
		handshakes,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		open = append(open, l)
		fmt.Fprintln(out, l.Addr())
		all.Go(func() error { return acceptAll(l, serve, &held, int64(most)) })
	}
	io.Copy(io.Discard, in)
	for _, l := range open {
		l.Close()
	}
	return all.Wait()
}

func acceptAll(l net.Listener, serve func(net.Conn), held *atomic.Int64, most int64) error {
	for {
		nc, err := l.Accept()
		if err != nil {
			return nil // closed
		}
		if held.Add(1) > most {
			held.Add(-1)
			nc.Close()
			continue
		}
		go func() {
			defer held.Add(-1)
			defer nc.Close()
			serve(nc)
		}()
	}
}

// frames reads one frame after the other, of so many bytes at the most, and answers
// each.
func frames(nc net.Conn, largest int32) {
	r := bufio.NewReaderSize(nc, 512)
	var head [4 + 8]byte // size, key, version, correlation
	for {
		if _, err := io.ReadFull(r, head[:4]); err != nil {
			return
		}
		size := int32(binary.BigEndian.Uint32(head[:]))
		if size < 8 || size > largest {
			return
		}
		if _, err := io.ReadFull(r, head[4:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, r, int64(size-8)); err != nil {
			return
		}
		answer := 4
		if kafka.APIKey(binary.BigEndian.Uint16(head[4:])) == kafka.KeyFetch {
			if size >= patient {
				continue
			}
			answer = fetched
		}
		if _, err := nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(answer)), append(head[8:12:12], make([]byte, answer-4)...)...)); err != nil {
			return
		}
	}
}

// handshakes answers the first bytes, as to a TLS handshake, and drops the rest.
func handshakes(nc net.Conn) {
	one := make([]byte, 512)
	if _, err := nc.Read(one); err != nil {
		return
	}
	if _, err := nc.Write(make([]byte, hello)); err != nil {
		return
	}
	io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{nc}, one)
}
