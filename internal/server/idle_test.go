package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// dialEnv makes the test binary a second process that only holds
// connections: "count address".
const dialEnv = "KAASD_TEST_DIAL"

func TestMain(m *testing.M) {
	if order := os.Getenv(dialEnv); order != "" {
		holdConnections(order)
		return
	}
	os.Exit(m.Run())
}

// holdConnections opens connections, says so, and keeps them until its input
// ends.
func holdConnections(order string) {
	var n int
	var address string
	if _, err := fmt.Sscan(order, &n, &address); err != nil {
		fmt.Println(err)
		return
	}
	held := make([]net.Conn, n)
	for i := range held {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			fmt.Println(err)
			return
		}
		// one answered request each: the connection has been in use
		if _, err := nc.Write(framed([]byte("hello"))); err != nil {
			fmt.Println(err)
			return
		}
		if _, err := readFrame(nc); err != nil {
			fmt.Println(err)
			return
		}
		held[i] = nc
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(held)
}

// hold starts the second process and waits until its connections are there.
func hold(t *testing.T, n int, address string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", dialEnv, n, address))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("the second process says %q", line)
	}
}

// resident is the resident memory of this process in bytes, after a
// collection that gives back what is free.
func resident(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestIdleConnections: 10,000 idle connections, or what the descriptors
// allow, cost little, and a peer beside them is answered.
func TestIdleConnections(t *testing.T) {
	r := start(t, testOptions(), &handler{serve: echo})
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n := min(10_000, r.maxConns-16, int(min(limit.Cur, 1<<20))-128)
	before := resident(t)
	hold(t, n, r.Listeners()[0].Address)
	perConnection := (resident(t) - before) / n
	t.Logf("%d connections, %d bytes resident each", n, perConnection)
	if r.open() != n {
		t.Fatalf("got %d connections open, want %d", r.open(), n)
	}
	if perConnection > 16<<10 && !raced {
		t.Errorf("got %d bytes resident per connection, want at most 16 KiB", perConnection)
	}
	c := r.dial()
	for range 1000 {
		c.send(framed([]byte("ping")))
		c.receive()
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
}
