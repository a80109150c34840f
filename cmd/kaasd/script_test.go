package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"

	"kaasd/internal/certificate/certificatetest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kaasd": main})
}

// TestScripts tells the command as an operator's sessions. Beside the usual
// commands of testscript a script has:
//
//	up [FLAG...]   run "kaasd start" on free ports of 127.0.0.1, wait until it is
//	               ready, and set BROKER (host:port, without a log-in if there
//	               is such a listener), HTTP (a URL), HTTP_ADDRESS, and KAASD_BOOTSTRAP_SERVER
//	               and KAASD_HTTP_LISTEN to the same addresses
//	signal NAME    send the running broker a signal: TERM, INT, HUP
//	down [CODE]    end the broker with SIGTERM and expect the exit code (0)
//	log TEXT       wait until the broker's log holds TEXT
//	produce TOPIC  produce one record over the listener without a log-in
//	certificates   write ca.pem, tls.crt and tls.key of localhost, client.pem (CN=carol
//	               with its key) and stranger.pem (an authority of nobody)
func TestScripts(t *testing.T) { testscript.Run(t, scripts(t)) }

func scripts(t *testing.T) testscript.Params {
	return testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *rewrite,
		Cmds:                scriptCommands(t),
		Setup: func(e *testscript.Env) error {
			e.Values[daemonKey{}] = new(*process)
			screenSetup(e)
			return nil
		},
	}
}

// screenCommands are there where terminals are made as on Linux.
var (
	screenCommands map[string]func(*testscript.TestScript, bool, []string)
	screenSetup    = func(*testscript.Env) {}
)

func scriptCommands(t *testing.T) map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){
		"up": up, "signal": sendSignal, "down": down, "log": waitForLog, "produce": produce,
		"certificates": func(ts *testscript.TestScript, _ bool, _ []string) { writeCertificates(t, ts.Getenv("WORK")) },
	}
	maps.Copy(all, screenCommands)
	return all
}

type daemonKey struct{}

func running(ts *testscript.TestScript) **process { return ts.Value(daemonKey{}).(**process) }

// process is a "kaasd start" of a script.
type process struct {
	cmd   *exec.Cmd
	lines *lines
}

// lines are what the process has logged so far.
type lines struct {
	mu   sync.Mutex
	more *sync.Cond
	text strings.Builder
	done bool
}

// read takes everything that r has to say.
func (l *lines) read(r io.Reader) {
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		l.mu.Lock()
		l.text.WriteString(scanner.Text() + "\n")
		l.mu.Unlock()
		l.more.Broadcast()
	}
	l.mu.Lock()
	l.done = true
	l.mu.Unlock()
	l.more.Broadcast()
}

// patience is how long a script waits for what will not come.
const patience = 20 * time.Second

// await is the log once it holds text, or has ended, or patience is at an end.
func (l *lines) await(text string) (string, bool) {
	end := time.Now().Add(patience)
	defer time.AfterFunc(patience, l.more.Broadcast).Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for !strings.Contains(l.text.String(), text) && !l.done && time.Now().Before(end) {
		l.more.Wait()
	}
	return l.text.String(), strings.Contains(l.text.String(), text)
}

func up(ts *testscript.TestScript, neg bool, args []string) {
	defaults := []string{"start", "--log-format=json", "--http-listen=127.0.0.1:0", "--data-dir=" + ts.MkAbs("data"), "--log-disk-reserve=0"}
	if !strings.Contains(strings.Join(args, " "), "--listeners") {
		defaults = append(defaults, "--listeners=PLAINTEXT://127.0.0.1:0")
	}
	cmd := exec.Command("kaasd", append(defaults, args...)...)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), []string{"PATH=" + ts.Getenv("PATH")}
	cmd.Path, _ = exec.LookPath("kaasd")
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	p := &process{cmd: cmd, lines: &lines{}}
	p.lines.more = sync.NewCond(&p.lines.mu)
	ts.Check(cmd.Start())
	go p.lines.read(stderr)
	*running(ts) = p
	ts.Setenv("BROKER", "")
	ts.Defer(func() { _ = cmd.Process.Kill() })
	log, ready := p.lines.await(`"msg":"http listener"`)
	if ready == neg {
		ts.Fatalf("ready: %v; the log:\n%s", ready, log)
	}
	if neg {
		return
	}
	for line := range strings.Lines(log) {
		noteAddress(ts, []byte(line))
	}
}

// noteAddress takes the addresses from the start's log lines.
func noteAddress(ts *testscript.TestScript, line []byte) {
	var l struct{ Msg, Listener, Address, Advertised string }
	if json.Unmarshal(line, &l) != nil {
		return
	}
	switch l.Msg {
	case "kafka listener":
		if l.Listener == "PLAINTEXT" || ts.Getenv("BROKER") == "" {
			ts.Setenv("BROKER", l.Advertised)
			ts.Setenv("KAASD_BOOTSTRAP_SERVER", l.Advertised)
		}
	case "http listener":
		ts.Setenv("HTTP", "http://"+l.Address)
		ts.Setenv("HTTP_ADDRESS", l.Address)
		ts.Setenv("KAASD_HTTP_LISTEN", l.Address)
	}
}

func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1}
	ts.Check((*running(ts)).cmd.Process.Signal(signals[args[0]]))
}

func down(ts *testscript.TestScript, _ bool, args []string) {
	p := *running(ts)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		ts.Fatalf("%v", err)
	}
	log, _ := p.lines.await("\x00") // all of it
	want, code := "0", 0
	if len(args) > 0 {
		want = args[0]
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if fmt.Sprint(code) != want {
		ts.Fatalf("exit code %d, want %s; the log:\n%s", code, want, log)
	}
}

func waitForLog(ts *testscript.TestScript, _ bool, args []string) {
	if log, ok := (*running(ts)).lines.await(args[0]); !ok {
		ts.Fatalf("the log has no %q:\n%s", args[0], bytes.TrimSpace([]byte(log)))
	}
}

func writeCertificates(t *testing.T, dir string) {
	authority := certificatetest.NewAuthority(t, "authority")
	authority.Issue(t, pkix.Name{CommonName: "localhost"}, nil).Write(t, dir)
	client := authority.Issue(t, pkix.Name{CommonName: "carol", Organization: []string{"Example"}}, nil)
	for name, data := range map[string][]byte{
		"ca.pem":       authority.Cert,
		"client.pem":   slices.Concat(client.Cert, client.Key),
		"stranger.pem": certificatetest.NewAuthority(t, "stranger").Cert,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func produce(ts *testscript.TestScript, _ bool, args []string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(ts.Getenv("BROKER")), kgo.AllowAutoTopicCreation())
	ts.Check(err)
	defer client.Close()
	ts.Check(client.ProduceSync(context.Background(), &kgo.Record{Topic: args[0], Value: []byte("a record")}).FirstErr())
}
