package server

import (
	"bufio"
	"encoding/binary"
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

// helperEnv makes the test binary a second process of clients: "what count
// address".
const helperEnv = "KAASD_TEST_CLIENTS"

func TestMain(m *testing.M) {
	if order := os.Getenv(helperEnv); order != "" {
		if err := beClients(order); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// beClients opens connections, says "ready", and keeps them until its input
// ends. "idle" ones are silent, "muted" ones ask for mutes of half a second
// on average, again and again.
func beClients(order string) error {
	var what, address string
	var n int
	if _, err := fmt.Sscan(order, &what, &n, &address); err != nil {
		return err
	}
	held := make([]net.Conn, n)
	for i := range held {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		if err := ask(nc, 0); err != nil { // the connection has been in use
			return err
		}
		held[i] = nc
		if what == "muted" {
			go askAgain(nc, uint32(i))
		}
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(held)
	return nil
}

// askAgain asks for mutes of 0 to 999 ms, in an order of its own.
func askAgain(nc net.Conn, ms uint32) {
	for ask(nc, ms) == nil {
		ms = (ms*37 + 11) % 1000
	}
}

// ask sends a request of four bytes and reads the answer.
func ask(nc net.Conn, ms uint32) error {
	if _, err := nc.Write(framed(binary.BigEndian.AppendUint32(nil, ms))); err != nil {
		return err
	}
	_, err := readFrame(nc)
	return err
}

// clients starts the second process and waits until its connections are
// there.
func clients(t testing.TB, what string, n int, address string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", helperEnv, what, n, address))
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
	clients(t, "idle", n, r.Listeners()[0].Address)
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
