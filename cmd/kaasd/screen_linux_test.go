package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// Commands of scripts that speak with a command through a terminal:
//
//	screen COMMAND...  start it on a terminal of 100 by 12
//	see TEXT           wait until it has written TEXT, behind what was seen
//	type KEYS          type; \r, \n, \e and \x03 stand for keys
//	blind              wait until the terminal does not show what is typed
//	interrupt          send it SIGINT
//	gone CODE          wait until it has ended with CODE; the terminal must be
//	                   what it was before
func init() {
	screenCommands = map[string]func(*testscript.TestScript, bool, []string){
		"screen": startOnScreen, "see": see, "type": typeKeys, "blind": blind, "interrupt": interrupt, "gone": gone,
	}
	screenSetup = func(e *testscript.Env) { e.Values[screenKey{}] = new(*tester) }
}

type screenKey struct{}

// tester is a command on a terminal of a test.
type tester struct {
	cmd    *exec.Cmd
	master *os.File // the side of the one who looks and types
	slave  *os.File
	before unix.Termios
	lines  *lines
	seen   int // bytes
}

// openTerminal makes a pseudo-terminal of 100 by 12.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	raw, err := master.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var number int
	var fault error
	err = raw.Control(func(fd uintptr) {
		if fault = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); fault == nil {
			number, fault = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err = errors.Join(err, fault); err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	return master, slave, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 12, Col: 100})
}

func startOnScreen(ts *testscript.TestScript, _ bool, args []string) {
	master, slave, err := openTerminal()
	ts.Check(err)
	before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	ts.Check(err)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Path, err = exec.LookPath(args[0])
	ts.Check(err)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), []string{"PATH=" + ts.Getenv("PATH"), "KAASD_BOOTSTRAP_SERVER=" + ts.Getenv("KAASD_BOOTSTRAP_SERVER")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	t := &tester{cmd: cmd, master: master, slave: slave, before: *before, lines: &lines{}}
	t.lines.more = sync.NewCond(&t.lines.mu)
	go t.read()
	ts.Defer(func() { _ = cmd.Process.Kill(); master.Close(); slave.Close() })
	*onScreen(ts) = t
}

func onScreen(ts *testscript.TestScript) **tester { return ts.Value(screenKey{}).(**tester) }

// read takes what is written, as it comes.
func (t *tester) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := t.master.Read(buffer)
		t.lines.mu.Lock()
		t.lines.text.Write(buffer[:n])
		t.lines.done = err != nil
		t.lines.mu.Unlock()
		t.lines.more.Broadcast()
		if err != nil {
			return
		}
	}
}

// see waits for text behind what was seen before.
func (t *tester) see(text string) error {
	end := time.Now().Add(patience)
	defer time.AfterFunc(patience, t.lines.more.Broadcast).Stop()
	t.lines.mu.Lock()
	defer t.lines.mu.Unlock()
	for time.Now().Before(end) {
		if at := strings.Index(t.lines.text.String()[t.seen:], text); at >= 0 {
			t.seen += at + len(text)
			return nil
		}
		if t.lines.done {
			break
		}
		t.lines.more.Wait()
	}
	return fmt.Errorf("%q is not seen behind\n%q", text, t.lines.text.String()[t.seen:])
}

func see(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check((*onScreen(ts)).see(keysOf(args[0])))
}

func keysOf(text string) string {
	return strings.NewReplacer(`\r`, "\r", `\n`, "\n", `\e`, "\x1b", `\x03`, "\x03").Replace(text)
}

func typeKeys(ts *testscript.TestScript, _ bool, args []string) {
	_, err := (*onScreen(ts)).master.WriteString(keysOf(args[0]))
	ts.Check(err)
}

func blind(ts *testscript.TestScript, _ bool, _ []string) {
	t := *onScreen(ts)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		now, err := unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS)
		ts.Check(err)
		if now.Lflag&unix.ECHO == 0 {
			return
		}
	}
	ts.Fatalf("the terminal shows what is typed")
}

func interrupt(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check((*onScreen(ts)).cmd.Process.Signal(os.Interrupt))
}

func gone(ts *testscript.TestScript, _ bool, args []string) {
	t := *onScreen(ts)
	var exit *exec.ExitError
	code := 0
	if err := t.cmd.Wait(); errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s; on the screen:\n%q", code, args[0], t.lines.text.String())
	}
	after, err := unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS)
	ts.Check(err)
	if *after != t.before {
		ts.Fatalf("the terminal is left as %+v, it was %+v", *after, t.before)
	}
}

// TestScreenAfterCrash: the terminal is given back before a crash is told,
// whichever part of the screen crashes.
func TestScreenAfterCrash(t *testing.T) {
	crash := func() { panic("no luck") }
	tests := []struct {
		name string
		look func(*topEvents) func()
	}{
		{"drawing", func(*topEvents) func() { return crash }},
		{"looking", func(e *topEvents) func() { return func() { e.start(crash) } }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			master, slave, err := openTerminal()
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			defer slave.Close()
			before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if p := crashed(t, slave, &out, tt.look); !strings.Contains(fmt.Sprint(p), "no luck") {
				t.Errorf("the crash tells %v", p)
			}
			if !strings.HasPrefix(out.String(), enterScreen) || !strings.HasSuffix(out.String(), leaveScreen) {
				t.Errorf("written: %q", out.String())
			}
			after, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil || *after != *before {
				t.Errorf("%v; the terminal is left as %+v, it was %+v", err, after, before)
			}
		})
	}
}

// crashed runs a screen until it crashes, and gives what the crash tells.
func crashed(t *testing.T, slave *os.File, out *strings.Builder, look func(*topEvents) func()) (told any) {
	defer func() { told = recover() }()
	s, err := openScreen(slave, out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.giveBack()
	events := newTopEvents()
	top := quotaTop{interval: time.Hour, sort: "use", limit: 1}
	t.Errorf("show ended with %v", top.show(t.Context(), s, events, look(events)))
	return nil
}
