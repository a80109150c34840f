package watch

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, size := range map[string]int{"empty": 0, "full": 10_000, "large": 10_001} {
		if err := os.WriteFile(name, bytes.Repeat([]byte("a"), size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("full", "link"), os.Mkdir("folder", 0o700), syscall.Mkfifo("pipe", 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		size int
		want string
	}{
		{"empty", 0, ""},
		{"full", 10_000, ""},
		{"link", 10_000, ""},
		{"large", 0, "large: more than 10000 bytes"},
		{"nowhere", 0, "nowhere: no such file or directory"},
		{"folder", 0, "folder: not a regular file"},
		{"pipe", 0, "pipe: not a regular file"},
		{"/dev/zero", 0, "/dev/zero: not a regular file"},
		{"full/below", 0, "full/below: not a directory"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			data, err := Read(tt.path, 10_000)
			if told := errorText(err); told != tt.want || len(data) != tt.size {
				t.Errorf("got %d bytes, %q; want %d, %q", len(data), told, tt.size, tt.want)
			}
		})
	}
	if _, err := Read("nowhere", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not say that there is no file", err)
	}
}

// TestReadNamesTheReader: root may read everything, and so this cannot be tried by it.
func TestReadNamesTheReader(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{syscall.EACCES, "permission denied (it must be readable for user id 65532)"},
		{syscall.ENOENT, "no such file or directory"},
	} {
		if err := withReader(c.err, 65532); err.Error() != c.want || !errors.Is(err, c.err) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestReadWhatIsSwapped: a pipe may come into the file's place at any moment, and is
// not waited for.
func TestReadWhatIsSwapped(t *testing.T) {
	dir := t.TempDir()
	file, pipe, path := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), filepath.Join(dir, "path")
	if err := errors.Join(os.WriteFile(file, []byte("a"), 0o600), syscall.Mkfifo(pipe, 0o600), os.Link(file, path)); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			for _, next := range []string{pipe, file} {
				if err := errors.Join(os.Link(next, path+".new"), os.Rename(path+".new", path)); err != nil {
					stopped <- err
					return
				}
			}
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
		}
	}()
	for range 5000 {
		data, err := Read(path, 1)
		if err == nil && string(data) != "a" || err != nil && !strings.HasSuffix(err.Error(), ": not a regular file") {
			t.Errorf("got %q, %v", data, err)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestReadDoesNotWait: a file of the kernel such as /proc/kmsg says to be regular,
// and what reads it waits for as long as there is nothing in it.
func TestReadDoesNotWait(t *testing.T) {
	quiet, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	defer other.Close()
	if _, err := readAll(quiet, 10); err != errNothingYet {
		t.Errorf("got %v, want %v", err, errNothingYet)
	}
}
