// Command fetchceiling tells what it costs at least to bring a file from the
// page cache to a peer on loopback: the processor time of this process alone, in
// ms, for a loop that reads and writes and for one that has the kernel send. The
// peer is another process.
//
//	fetchceiling FILE...
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const peerFlag = "--peer"

func main() {
	if len(os.Args) == 3 && os.Args[1] == peerFlag {
		must(peer(os.Args[2]))
		return
	}
	for _, way := range []struct {
		name string
		send func(*net.TCPConn, *os.File) error
	}{{"copy", copyFile}, {"sendfile", sendFile}} {
		cost, err := measure(os.Args[1:], way.send)
		must(err)
		fmt.Printf("%s %d\n", way.name, cost.Milliseconds())
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetchceiling:", err)
		os.Exit(1)
	}
}

// peer takes all that comes.
func peer(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
	return err
}

// measure is what sending the files costs.
func measure(files []string, send func(*net.TCPConn, *os.File) error) (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	taker := exec.Command(os.Args[0], peerFlag, l.Addr().String())
	if err := taker.Start(); err != nil {
		return 0, err
	}
	c, err := l.Accept()
	if err != nil {
		return 0, err
	}
	before := spent()
	for _, name := range files {
		f, err := os.Open(name)
		if err == nil {
			err = send(c.(*net.TCPConn), f)
		}
		if err != nil {
			return 0, err
		}
		f.Close()
	}
	cost := spent() - before
	c.Close()
	return cost, taker.Wait()
}

// spent is the processor time of this process.
func spent() time.Duration {
	var r syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func copyFile(c *net.TCPConn, f *os.File) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{f}, make([]byte, 256<<10))
	return err
}

// sendFile is what the standard library makes of a file and a connection.
func sendFile(c *net.TCPConn, f *os.File) error {
	_, err := c.ReadFrom(f)
	return err
}
