package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	startTime = 20 * time.Second // for a process to get ready, and to end
	user      = "alice"          // who exists
)

// target is a process that is attacked: kaasd, or the sink.
type target struct {
	plain, sasl, tls string // host:port
	http             string // empty: it has no metrics
	cmd              *exec.Cmd
	log              *bytes.Buffer
	stdin            io.Closer // the sink ends with it
	ended            bool
}

// startSink runs this program as the sink.
func startSink(a attack) (*target, error) {
	t := &target{log: new(bytes.Buffer)}
	t.cmd = exec.Command("/proc/self/exe", "sink", strconv.Itoa(a.most))
	t.cmd.Stderr = t.log
	stdin, err := t.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	t.stdin = stdin
	stdout, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stdout)
	for _, address := range []*string{&t.plain, &t.sasl, &t.tls} {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, errors.Join(fmt.Errorf("it did not start: %w\n%s", err, t.log), t.stop())
		}
		*address = strings.TrimSpace(line)
	}
	return t, nil
}

// startBroker runs kaasd with nothing in its data folder.
func startBroker(o options, dir string, a attack) (*target, error) {
	data, err := os.MkdirTemp(dir, "data")
	if err != nil {
		return nil, err
	}
	t := &target{log: new(bytes.Buffer)}
	for _, address := range []*string{&t.plain, &t.sasl, &t.tls, &t.http} {
		if *address, err = freePort(); err != nil {
			return nil, err
		}
	}
	file, err := credentials(o.kaasd, data)
	if err != nil {
		return nil, err
	}
	args := []string{"start", "--data-dir", data, "--http-listen", t.http, "--credentials-file", file, "--log-format", "json",
		"--memory-limit", o.limit, "--log-disk-reserve", "0", "--sasl-enabled-mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}
	listeners := "PLAINTEXT://" + t.plain + ",SASL_PLAINTEXT://" + t.sasl
	if a.tls {
		cert, key, err := certificate(data)
		if err != nil {
			return nil, err
		}
		listeners += ",SSL://" + t.tls
		args = append(args, "--tls-cert-file", cert, "--tls-key-file", key)
	}
	t.cmd = exec.Command(o.kaasd, slices.Concat(args, []string{"--listeners", listeners}, a.settings)...)
	t.cmd.Env = withoutSettings(os.Environ())
	t.cmd.Stderr = t.log
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	return t, t.ready()
}

// ready waits until kaasd is.
func (t *target) ready() error {
	for until := time.Now().Add(startTime); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if resp, err := http.Get("http://" + t.http + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return errors.Join(errors.New("kaasd does not get ready"), t.stop())
}

// stop ends the process as an operator would, and says what it left behind. It
// may be called twice.
func (t *target) stop() error {
	if t.ended {
		return nil
	}
	t.ended = true
	if t.stdin != nil {
		t.stdin.Close()
	} else {
		_ = t.cmd.Process.Signal(os.Interrupt)
	}
	late := time.AfterFunc(2*startTime, func() { _ = t.cmd.Process.Kill() })
	defer late.Stop()
	if err := t.cmd.Wait(); err != nil {
		return fmt.Errorf("it ended with %w:\n%s", err, tail(t.log.Bytes(), 4000))
	}
	if at := bytes.Index(t.log.Bytes(), []byte("panic")); at >= 0 {
		return fmt.Errorf("a panic:\n%s", tail(t.log.Bytes()[:min(at+4000, t.log.Len())], 4100))
	}
	return nil
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// withoutSettings drops what kaasd would take for a setting.
func withoutSettings(env []string) []string {
	var out []string
	for _, e := range env {
		if !strings.HasPrefix(e, "KAASD_") && !strings.HasPrefix(e, "KAFKA_") {
			out = append(out, e)
		}
	}
	return out
}

// credentials is a file with one user.
func credentials(binary, dir string) (string, error) {
	path := filepath.Join(dir, "credentials.json")
	add := exec.Command(binary, "user", "add", user, "--file", path, "--password-stdin")
	add.Env = withoutSettings(os.Environ())
	add.Stdin = strings.NewReader(password + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		return "", fmt.Errorf("add a user: %w: %s", err, out)
	}
	return path, nil
}

// certificate is one that signs itself, and its key.
func certificate(dir string) (cert, key string, err error) {
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		return "", "", err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		return "", "", err
	}
	return cert, key, errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
}

// resident is the resident memory in bytes: what it is now, and the most it has
// been.
func (t *target) resident() (now, most int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		switch {
		case name == "VmRSS" && err == nil:
			now = kib << 10
		case name == "VmHWM" && err == nil:
			most = kib << 10
		}
	}
	return now, most, nil
}

// refusals are the counters that tell what the broker refused, without those at 0.
func (t *target) refusals() (map[string]float64, error) {
	if t.http == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.http+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	all := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		for _, r := range refusing {
			series, value, _ := strings.Cut(lines.Text(), " ")
			if !strings.HasPrefix(series, r.prefix) || !strings.Contains(series, r.with) {
				continue
			}
			if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 {
				all[r.says] += n
			}
		}
	}
	return all, nil
}

// refusing are the counters of refusals, and the words for the table.
var refusing = []struct{ prefix, with, says string }{
	{"kaasd_connections_rejected_total", `reason="limit"`, "connection limit"},
	{"kaasd_ip_connections_refused_total", "", "ip quota"},
	{"kaasd_bad_frames_total", "", "bad frame"},
	{"kaasd_tls_handshakes_total", `result="failed"`, "TLS handshake"},
	{"kaasd_tls_handshakes_total", `result="failure"`, "TLS handshake"},
	{"kaasd_authentications_total", `result="failure"`, "log-in"},
	{"kaasd_authentications_total", `result="failed"`, "log-in"},
	{"kaasd_request_errors_total", `error="INVALID_RECORD"`, "INVALID_RECORD"},
	{"kaasd_request_errors_total", `error="INVALID_TIMESTAMP"`, "INVALID_TIMESTAMP"},
	{"kaasd_request_errors_total", `error="INVALID_TOPIC_EXCEPTION"`, "INVALID_TOPIC_EXCEPTION"},
	{"kaasd_request_errors_total", `error="MESSAGE_TOO_LARGE"`, "MESSAGE_TOO_LARGE"},
}
