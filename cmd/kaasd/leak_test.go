package main

import (
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"golang.org/x/crypto/bcrypt"

	"kaasd/internal/certificate/certificatetest"
)

// house is a broker with everything that is secret, and all that was ever said
// by it and about it.
type house struct {
	t       *testing.T
	dir     string
	process *process
	address map[string]string // of listeners by name, and of http
	roots   *x509.CertPool
	secrets map[string]string // what must not be seen, by what it is

	said map[string]string // by where it was said
}

// TestSecretsStayInside runs a broker and the commands around it with known
// secrets, through good and bad days, and looks for them in everything that comes
// out: logs, pages, profiles, the dump of a crash, command lines and the output of
// commands.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	h := &house{t: t, dir: t.TempDir(), address: map[string]string{}, secrets: map[string]string{}, said: map[string]string{}}
	h.furnish()
	h.start()
	h.logIns()
	h.pages()
	h.badFiles()
	h.commands()
	h.crash()
	h.search()
}

func (h *house) path(name string) string { return filepath.Join(h.dir, name) }

func (h *house) write(name, content string) {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// secret notes a text, and what it looks like in other notations.
func (h *house) secret(what, text string) string {
	h.secrets[what] = text
	h.secrets[what+" in base64"] = base64.StdEncoding.EncodeToString([]byte(text))
	h.secrets[what+" in hex"] = hex.EncodeToString([]byte(text))
	return text
}

// furnish makes the files.
func (h *house) furnish() {
	authority := certificatetest.NewAuthority(h.t, "authority")
	h.roots = x509.NewCertPool()
	h.roots.AppendCertsFromPEM(authority.Cert)
	pair := authority.Issue(h.t, pkix.Name{CommonName: "localhost"}, nil)
	pair.Write(h.t, h.dir)
	block, _ := pem.Decode(pair.Key)
	h.secret("the private key", string(block.Bytes))
	h.secrets["a line of the private key"] = strings.Split(string(pair.Key), "\n")[2]

	h.write("scram.txt", h.secret("the SCRAM password", "scram-password-3141"))
	h.command("user add", "user", "add", "alice", "--file", h.path("credentials.json"), "--password-stdin")
	h.keysOf("credentials.json")
	file := h.read("credentials.json")
	h.write("credentials.json", strings.Replace(file, `"users": [`,
		`"users": [{"username":"bob","authType":"plain","plainPassword":"`+h.secret("the PLAIN password", "plain-password-2718")+`"},`, 1))
	hash, err := bcrypt.GenerateFromPassword([]byte(h.secret("the password of the pages", "http-password-1618")), bcrypt.MinCost)
	if err != nil {
		h.t.Fatal(err)
	}
	h.secret("the hash of that", string(hash))
	h.write("web.yml", fmt.Sprintf("basic_auth_users:\n  prom: '%s'\n", hash))
}

// keysOf notes the keys of a credentials file.
func (h *house) keysOf(name string) {
	var file struct {
		Users []struct{ Scram map[string]any }
	}
	if err := json.Unmarshal([]byte(h.read(name)), &file); err != nil {
		h.t.Fatal(err)
	}
	for _, key := range []string{"salt", "storedKey", "serverKey"} {
		raw, err := base64.StdEncoding.DecodeString(file.Users[0].Scram[key].(string))
		if err != nil {
			h.t.Fatal(err)
		}
		h.secret("the "+key, string(raw))
	}
}

func (h *house) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

// start runs the broker, with its log as loud as it gets.
func (h *house) start() {
	cmd := exec.Command("kaasd", "start", "--log-format=json", "--log-level=debug", "--data-dir="+h.path("data"), "--log-disk-reserve=0",
		"--listeners=PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
		"--sasl-enabled-mechanisms=SCRAM-SHA-512,PLAIN", "--credentials-file="+h.path("credentials.json"),
		"--tls-cert-file="+h.path("tls.crt"), "--tls-key-file="+h.path("tls.key"),
		"--http-listen=127.0.0.1:0", "--http-config-file="+h.path("web.yml"), "--http-enable-pprof", "--http-enable-lifecycle")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	h.process = &process{cmd: cmd, lines: &lines{}}
	h.process.lines.more = sync.NewCond(&h.process.lines.mu)
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = cmd.Process.Kill() })
	go h.process.lines.read(stderr)
	for line := range strings.Lines(h.await(`"msg":"http listener"`)) {
		var l struct{ Msg, Listener, Address, Advertised string }
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "kafka listener" {
			h.address[l.Listener] = l.Advertised
		} else if l.Msg == "http listener" {
			h.address["http"] = l.Address
		}
	}
	for _, about := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, about))
		if err == nil { // where there is a /proc
			h.said[about] = string(b)
		}
	}
}

func (h *house) await(text string) string {
	h.t.Helper()
	log, ok := h.process.lines.await(text)
	if !ok {
		h.t.Fatalf("the log has no %q:\n%s", text, log)
	}
	return log
}

// logIn tries to log in and gives what came of it.
func (h *house) logIn(listener string, mechanism sasl.Mechanism) error {
	opts := []kgo.Opt{kgo.SeedBrokers(h.address[listener]), kgo.SASL(mechanism), kgo.RetryTimeout(time.Second), kgo.RequestRetries(0)}
	if listener == "SASL_SSL" {
		opts = append(opts, kgo.DialTLSConfig(&tls.Config{RootCAs: h.roots, ServerName: "localhost"}))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		h.t.Fatal(err)
	}
	defer client.Close()
	err = client.Ping(context.Background())
	if err != nil {
		h.said["the error of a log-in at "+listener] += err.Error() + "\n"
	}
	return err
}

// logIns are good ones and bad ones.
func (h *house) logIns() {
	tried := h.secret("a wrong password", "wrong-password-0577")
	misplaced := h.secret("a password typed as a name", "misplaced-password-6931")
	// The first failure is the one that is told of.
	for _, listener := range []string{"SASL_PLAINTEXT", "SASL_SSL"} {
		for _, good := range []sasl.Mechanism{
			scram.Auth{User: "alice", Pass: "scram-password-3141"}.AsSha512Mechanism(), plain.Auth{User: "bob", Pass: "plain-password-2718"}.AsMechanism(),
		} {
			if err := h.logIn(listener, good); err != nil {
				h.t.Fatalf("%s at %s: %v", good.Name(), listener, err)
			}
		}
		for _, bad := range []sasl.Mechanism{
			scram.Auth{User: misplaced, Pass: "x"}.AsSha512Mechanism(), plain.Auth{User: misplaced, Pass: "x"}.AsMechanism(),
			scram.Auth{User: "alice", Pass: tried}.AsSha512Mechanism(), plain.Auth{User: "bob", Pass: tried}.AsMechanism(),
			plain.Auth{User: "bob", Pass: "x\x00" + tried}.AsMechanism(),
		} {
			if h.logIn(listener, bad) == nil {
				h.t.Fatalf("a bad %s is good at %s", bad.Name(), listener)
			}
		}
	}
	h.await(`"msg":"log-in failed"`)
	h.giveCredential()
}

// giveCredential sets one over the Kafka API.
func (h *house) giveCredential() {
	password, salt := h.secret("a password of the API", "api-password-4142"), h.secret("its salt", "a-salt-of-the-API-7320")
	salted, err := pbkdf2.Key(sha512.New, password, []byte(salt), 4096, sha512.Size)
	if err != nil {
		h.t.Fatal(err)
	}
	h.secret("its salted password", string(salted))
	client, err := kgo.NewClient(kgo.SeedBrokers(h.address["PLAINTEXT"]))
	if err != nil {
		h.t.Fatal(err)
	}
	defer client.Close()
	done, err := kadm.NewClient(client).AlterUserSCRAMs(context.Background(), nil, []kadm.UpsertSCRAM{
		{User: "carol", Mechanism: kadm.ScramSha512, Iterations: 4096, Salt: []byte(salt), SaltedPassword: salted},
	})
	if err == nil {
		err = done.Error()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.await(`"msg":"SCRAM credentials changed"`)
}

// pages reads every page, with the right password and with a wrong one.
func (h *house) pages() {
	wrong := h.secret("a wrong password of the pages", "wrong-http-password-8284")
	for _, password := range []string{"http-password-1618", wrong} {
		for _, path := range []string{"/", "/metrics", "/v1/status", "/v1/quotas", "/readyz?verbose", "/nowhere", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/cmdline"} {
			request, err := http.NewRequest(http.MethodGet, "http://"+h.address["http"]+path, nil)
			if err != nil {
				h.t.Fatal(err)
			}
			request.SetBasicAuth("prom", password)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				h.t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if response.Body.Close(); err != nil {
				h.t.Fatal(err)
			}
			h.said["page "+path] += fmt.Sprint(response.Status, response.Header) + string(body)
		}
	}
	h.await(`"msg":"http log-in failed"`)
}

// badFiles puts secrets where they do not belong, and has them read.
func (h *house) badFiles() {
	stray := h.secret("a password in a bad file", "stray-password-5772")
	for _, bad := range []struct{ name, content, told string }{
		{"credentials.json", `{"users":[{"username":"a","authType":"scram-sha-512","scram":{"salt":"` + stray + `!","storedKey":"","serverKey":"","iterations":1}}]}`, "credentials not reloaded"},
		{"credentials.json", `{"users":[{"username":"a","authType":"plain","plainPassword":["` + stray + `"]}]}`, "credentials not reloaded"},
		{"credentials.json", `{"users":[` + stray + `]}`, "credentials not reloaded"},
		{"web.yml", "basic_auth_users:\n  prom: " + stray + "\n", "http config not reloaded"},
		{"web.yml", "basic_auth_users: [" + stray + "]\n", "http config not reloaded"},
		{"web.yml", "tls_server_config:\n  cert_file: tls.crt\n  key: " + stray + "\n", "http config not reloaded"},
		{"tls.key", stray, "certificates not reloaded"},
		{"tls.key", "-----BEGIN PRIVATE KEY-----\n" + base64.StdEncoding.EncodeToString([]byte(stray)) + "\n-----END PRIVATE KEY-----\n", "certificates not reloaded"},
	} {
		good := h.read(bad.name)
		h.write(bad.name, bad.content)
		request, err := http.NewRequest(http.MethodPost, "http://"+h.address["http"]+"/-/reload", nil)
		if err != nil {
			h.t.Fatal(err)
		}
		request.SetBasicAuth("prom", "http-password-1618")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			h.t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if response.Body.Close(); err != nil {
			h.t.Fatal(err)
		}
		if response.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(body), bad.told) {
			h.t.Errorf("%s with %q: %s %s", bad.name, bad.content, response.Status, body)
		}
		h.said["the reload of a bad "+bad.name] += string(body)
		h.said["the start on a bad "+bad.name] += h.output("start", "--data-dir=:memory:", "--listeners=SSL://127.0.0.1:0", "--http-listen=127.0.0.1:0",
			"--credentials-file="+h.path("credentials.json"), "--tls-cert-file="+h.path("tls.crt"), "--tls-key-file="+h.path("tls.key"), "--http-config-file="+h.path("web.yml"))
		h.said["validate"] += h.output("credentials", "validate", h.path("credentials.json"))
		h.write(bad.name, good)
	}
}

// commands are those that are given secrets.
func (h *house) commands() {
	h.write("wrong.txt", "wrong-password-0577")
	h.write("client.properties", "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=x required username=\"bob\" password=\"wrong-password-0577\";\n")
	h.write("broken.properties", "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=x required user=\"bob\" password=\"wrong-password-0577\";\n")
	sasl, pages := "--bootstrap-server="+h.address["SASL_PLAINTEXT"], "--http=http://"+h.address["http"]
	for _, args := range [][]string{
		{"quota", "describe", sasl, "--sasl-user=alice", "--sasl-password-file=" + h.path("scram.txt")},
		{"quota", "describe", sasl, "--sasl-user=alice", "--sasl-password-file=" + h.path("wrong.txt")},
		{"quota", "describe", sasl, "--command-config=" + h.path("client.properties")},
		{"quota", "describe", sasl, "--command-config=" + h.path("broken.properties")},
		{"quota", "top", "--once", pages, "--http-user=prom", "--http-password-file=" + h.path("wrong.txt")},
		{"quota", "top", "--once", "--http=http://prom:http-password-1618@" + h.address["http"]},
		{"user", "list", "--file=" + h.path("credentials.json"), "-o", "json"},
		{"user", "add", "alice", "--file=" + h.path("credentials.json"), "--password-stdin"},
		{"config", "show", "--tls-key-file=" + h.path("tls.key")},
		{"health", pages},
	} {
		h.command(strings.Join(args[:2], " "), args...)
	}
}

// command runs one with the SCRAM password on stdin.
func (h *house) command(what string, args ...string) { h.said["kaasd "+what] += h.output(args...) }

func (h *house) output(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kaasd", args...)
	cmd.Dir, cmd.Stdin = h.dir, strings.NewReader("scram-password-3141")
	out, _ := cmd.CombinedOutput() // many fail, as they should
	return string(out)
}

// crash has the process print all that its goroutines are at.
func (h *house) crash() {
	if err := h.process.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		h.t.Fatal(err)
	}
	h.said["the log and the dump"] = h.await("SIGQUIT: quit")
	log, _ := h.process.lines.await("\x00") // all of it
	h.said["the log and the dump"] = log
	_ = h.process.cmd.Wait()
}

// search looks everywhere, after it has seen that there is something to look at.
func (h *house) search() {
	for where, want := range map[string]string{
		"the log and the dump": "goroutine ", "page /metrics": "kaasd_authentications_total", "page /v1/status": "credentials",
		"page /debug/pprof/goroutine?debug=2": "goroutine ", "kaasd user list": "alice", "kaasd quota describe": "refused the log-in", "kaasd config show": "tls.key.file",
		"the start on a bad tls.key": "tls.key", "the start on a bad web.yml": "web.yml", "validate": "credentials.json",
	} {
		if !strings.Contains(h.said[where], want) {
			h.t.Errorf("%s does not hold %q: %.500s", where, want, h.said[where])
		}
	}
	for what, secret := range h.secrets {
		for where, said := range h.said {
			if i := strings.Index(said, secret); i >= 0 {
				h.t.Errorf("%s is in %s: ...%q", what, where, bytes.ToValidUTF8([]byte(said[max(0, i-100):i]), nil))
			}
		}
	}
}
