package broker_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/kafka"
)

// What a broker cannot start from is named.
func TestStartNamesWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	inMemory := func(c *broker.Config) { c.DataDir = broker.InMemory }
	for _, c := range []struct {
		name    string
		change  func(*broker.Config)
		says    []string
		badFile bool
	}{
		{"a taken port", func(c *broker.Config) { c.Listeners[0].Address = taken.Addr().String() }, []string{"listeners", port, "in use"}, false},
		{"a taken port of http", func(c *broker.Config) { c.HTTP.Listen = taken.Addr().String() }, []string{"http.listen", port, "in use"}, false},
		{"bad credentials", withFile(t, "{\n\"users\":[{\"username\":\"bob\",\"authType\":\"scram-sha-512\",\"scram\":{\"salt\":\"!\"}}]}"), []string{".json:2:", "bob", "scram.salt"}, true},
		{"credentials without users", withFile(t, "{}"), []string{"users"}, true},
		{"an unknown model", func(c *broker.Config) { c.Quota.Model = "both" }, []string{"quota.model", "both"}, false},
		{"an unknown property", func(c *broker.Config) { c.Properties["num.partition"] = "1" }, []string{"num.partition"}, false},
		{"a bad value", func(c *broker.Config) { c.Properties["num.partitions"] = "many" }, []string{"num.partitions", "many"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := startsNot(inMemory, c.change)
			var bad *broker.BadFile
			if err == nil || errors.As(err, &bad) != c.badFile {
				t.Fatalf("got %v", err)
			}
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
		})
	}
}

// A credentials file that is missing or empty at the start is an empty store,
// and is taken when it comes.
func TestStartWithoutCredentials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials.json")
	for _, empty := range []bool{false, true} {
		if empty {
			rewrite(t, path, "")
		}
		b := brokertest.Start(t, func(c *broker.Config) { c.CredentialsFile = path })
		if code := dial(t, b.SASL).logIn("alice", "a-secret"); code != kafka.SASLAuthenticationFailed {
			t.Errorf("logged in without a file: %s", code)
		}
		rewrite(t, path, credentials(t, alice))
		eventually(t, "the file is taken", func() bool { return dial(t, b.SASL).logIn("alice", "a-secret") == kafka.NoError })
		b.Stop()
	}
}

// After a loss of power a small file may be there with no bytes. Whichever it
// is, the broker starts and has its topics and records, or says which file it
// is; it never takes topics for deleted.
func TestEmptiedFiles(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.Start(t, inFolder(dir))
	p := dial(t, b.Plain)
	id := p.newTopic("t")
	p.mustProduce("t", idempotent(p.newProducer(), 0, 0))
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b.Stop()
	for how, dir := range map[string]string{"after a stop": dir, "after a kill": killed} {
		for _, file := range filesOf(t, dir) {
			t.Run(how+" "+strings.ReplaceAll(file, "/", " "), func(t *testing.T) {
				copied := t.TempDir()
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(filepath.Join(copied, file), 0); err != nil {
					t.Fatal(err)
				}
				b, err := brokertest.Try(t, zap.NewNop(), inFolder(copied))
				if err != nil {
					if name := strings.Split(file, "/")[0]; !strings.Contains(err.Error(), name) {
						t.Errorf("the error does not name %s: %v", name, err)
					}
					return
				}
				p := dial(t, b.Plain)
				if got := topicID(p, "t"); got != id {
					t.Errorf("the topic was %s and is %s", id, got)
				}
				if got := endOffset(p, "t"); got != 2 && !strings.HasPrefix(file, "t-0/0") {
					t.Errorf("the topic ends at %d, want 2", got)
				}
			})
		}
	}
}

func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	return files
}

// A metadata log that has lost what was on disk, or holds damage, ends the start as a bad file,
// and nothing in the folder is touched.
func TestCutMetadata(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.Start(t, inFolder(dir))
	p := dial(t, b.Plain)
	for _, topic := range []string{"a", "b", "c"} {
		p.newTopic(topic)
		p.mustProduce(topic, batch(10))
	}
	b.Stop()
	log := filepath.Join(dir, "__kaasd_metadata-0", "00000000000000000000.log")
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(log, whole[:left], 0o600); err != nil {
			t.Fatal(err)
		}
		var bad *broker.BadFile
		if _, err := brokertest.Try(t, zap.NewNop(), inFolder(dir)); !errors.As(err, &bad) || !strings.Contains(err.Error(), "__kaasd_metadata-0") {
			t.Errorf("%d of %d bytes are left: %v", left, len(whole), err)
		}
	}
	damaged := bytes.Clone(whole)
	damaged[80] ^= 0xff // in the first batch, with good ones behind it
	for _, clean := range []bool{true, false} {
		if err := os.WriteFile(log, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if !clean {
			_ = os.Remove(filepath.Join(dir, "clean"))
		}
		var bad *broker.BadFile
		if _, err := brokertest.Try(t, zap.NewNop(), inFolder(dir)); !errors.As(err, &bad) || !strings.Contains(err.Error(), "__kaasd_metadata-0") {
			t.Errorf("a bad batch before good ones, clean %v: %v", clean, err)
		}
	}
	if err := os.WriteFile(log, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	p = dial(t, brokertest.Start(t, inFolder(dir)).Plain)
	for _, topic := range []string{"a", "b", "c"} {
		if got := endOffset(p, topic); got != 1 {
			t.Errorf("%s ends at %d", topic, got)
		}
	}
}
