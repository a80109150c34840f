package watch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// volume is a folder as Kubernetes makes it of a Secret.
type volume struct {
	t    *testing.T
	dir  string
	turn int
}

func (v *volume) file() string { return filepath.Join(v.dir, "c.json") }

func (v *volume) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// project swaps the volume's content.
func (v *volume) project(text string) {
	v.t.Helper()
	v.turn++
	before, _ := os.Readlink(filepath.Join(v.dir, "..data"))
	name := ".." + string(rune('a'+v.turn))
	v.must(os.Mkdir(filepath.Join(v.dir, name), 0o700))
	write(v.t, filepath.Join(v.dir, name, "c.json"), text)
	v.must(os.Symlink(name, filepath.Join(v.dir, "..data_tmp")))
	v.must(os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")))
	if before != "" {
		v.must(os.RemoveAll(filepath.Join(v.dir, before)))
	} else {
		v.must(os.Symlink("..data/c.json", v.file()))
	}
}

// await follows the path with real events and no help of the slow look, and
// waits until the file has been read with the text wanted.
func await(t *testing.T, w *Watcher, path, want string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case <-w.C():
			if got, _ := os.ReadFile(path); string(got) == want {
				return
			}
		case <-deadline:
			t.Fatalf("%q was never seen", want)
		}
	}
}

func start(t *testing.T, path string) *Watcher {
	t.Helper()
	armed := make(chan struct{}, 1)
	w := New(path, Options{Quiet: 5 * time.Millisecond, Most: time.Second, Look: time.Hour, Watching: func(err error) {
		if err != nil {
			t.Errorf("no watch: %v", err)
		}
		armed <- struct{}{}
	}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-armed
	return w
}

func TestEventsOfARealFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	v := &volume{t: t}
	write(t, path, "0")
	w := start(t, path)
	for _, c := range []struct {
		name   string
		change func(text string)
	}{
		{"in place", func(text string) { write(t, path, text) }},
		{"truncate, then write", func(text string) { v.must(os.Truncate(path, 0)); write(t, path, text) }},
		{"rename over", func(text string) { write(t, path+".tmp", text); v.must(os.Rename(path+".tmp", path)) }},
		{"remove, then write", func(text string) { v.must(os.Remove(path)); write(t, path, text) }},
		{"move away, then write", func(text string) { v.must(os.Rename(path, path+".bak")); write(t, path, text) }},
		{"link in its place", func(text string) {
			write(t, path+".real", text)
			v.must(os.Remove(path))
			v.must(os.Symlink(path+".real", path))
		}},
		{"behind the link", func(text string) { write(t, path+".real", text) }},
		{"folder replaced", func(text string) {
			dir := filepath.Dir(path)
			v.must(os.Rename(dir, dir+".old"))
			v.must(os.Mkdir(dir, 0o700))
			write(t, path, text)
		}},
	} {
		c.change(c.name)
		await(t, w, path, c.name)
	}
}

func TestEventsOfAKubernetesVolume(t *testing.T) {
	v := &volume{t: t, dir: t.TempDir()}
	v.project("0")
	w := start(t, v.file())
	for i := range 20 {
		text := string(rune('A' + i))
		v.project(text)
		await(t, w, v.file(), text)
	}
}

func TestEventsOfAFileThatComesLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "c.json")
	w := start(t, path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, "here")
	await(t, w, path, "here")
}

func TestEventsBehindALinkToTheFolder(t *testing.T) {
	root := t.TempDir()
	v := &volume{t: t}
	for _, name := range []string{"one", "two"} {
		v.must(os.Mkdir(filepath.Join(root, name), 0o700))
		write(t, filepath.Join(root, name, "c.json"), name)
	}
	link := filepath.Join(root, "current")
	v.must(os.Symlink("one", link))
	path := filepath.Join(link, "c.json")
	w := start(t, path)
	v.must(os.Symlink("two", link+".tmp"))
	v.must(os.Rename(link+".tmp", link))
	await(t, w, path, "two")
}
