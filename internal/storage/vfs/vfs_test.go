package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// each runs the contract test on every file system.
func each(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Run("os", func(t *testing.T) { test(t, OS(), t.TempDir()) })
	t.Run("memory", func(t *testing.T) {
		m := Memory()
		must(t, m.MkdirAll("/data"))
		test(t, m, "/data")
	})
	t.Run("crash", func(t *testing.T) { test(t, NewCrash("/data"), "/data") })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFileHoldsWhatWasWritten(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		f, err := fsys.OpenWrite(dir + "/a")
		must(t, err)
		defer f.Close()
		_, err = f.WriteAt([]byte("hello"), 3)
		must(t, err)
		must(t, f.Sync())
		buf := make([]byte, 16)
		n, err := f.ReadAt(buf, 0)
		if err != io.EOF || !bytes.Equal(buf[:n], []byte("\x00\x00\x00hello")) {
			t.Errorf("got %q, %v", buf[:n], err)
		}
		must(t, f.Truncate(4))
		must(t, f.Truncate(6))
		data, err := ReadFile(fsys, dir+"/a", 100)
		must(t, err)
		if want := []byte("\x00\x00\x00h\x00\x00"); !bytes.Equal(data, want) {
			t.Errorf("after truncate: got %q, want %q", data, want)
		}
		if size, err := fsys.Stat(dir + "/a"); size != 6 || err != nil {
			t.Errorf("Stat: got %d, %v", size, err)
		}
		if _, err := ReadFile(fsys, dir+"/a", 5); err == nil {
			t.Error("ReadFile beyond its limit: no error")
		}
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		must(t, fsys.MkdirAll(dir+"/d/e"))
		must(t, fsys.MkdirAll(dir+"/d/e"))
		must(t, WriteFile(fsys, dir+"/d/x", []byte("1")))
		must(t, WriteFile(fsys, dir+"/d/x", []byte("22")))
		must(t, WriteUnsynced(fsys, dir+"/d/y", nil))
		must(t, fsys.Rename(dir+"/d/y", dir+"/d/z"))
		names, err := fsys.ReadDir(dir + "/d")
		must(t, err)
		if diff := cmp.Diff([]string{"e", "x", "z"}, names); diff != "" {
			t.Error(diff)
		}
		must(t, fsys.Rename(dir+"/d", dir+"/moved"))
		data, err := ReadFile(fsys, dir+"/moved/x", 10)
		must(t, err)
		if string(data) != "22" {
			t.Errorf("got %q", data)
		}
		if err := fsys.Remove(dir + "/moved"); err == nil {
			t.Error("removed a folder that is not empty")
		}
		must(t, fsys.Remove(dir+"/moved/x"))
		must(t, fsys.SyncDir(dir+"/moved"))
		if Exists(fsys, dir+"/moved/x") {
			t.Error("a removed file exists")
		}
	})
}

func TestMissingFiles(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		calls := map[string]error{}
		_, calls["open"] = fsys.Open(dir + "/no")
		_, calls["open to write below"] = fsys.OpenWrite(dir + "/no/no")
		_, calls["readdir"] = fsys.ReadDir(dir + "/no")
		_, calls["stat"] = fsys.Stat(dir + "/no")
		calls["rename"] = fsys.Rename(dir+"/no", dir+"/yes")
		calls["remove"] = fsys.Remove(dir + "/no")
		calls["syncdir"] = fsys.SyncDir(dir + "/no")
		for call, err := range calls {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: got %v", call, err)
			}
		}
	})
}

func TestLockIsForOne(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		must(t, fsys.Locked(dir+"/LOCK"))
		if Exists(fsys, dir+"/LOCK") {
			t.Error("a question made the lock file")
		}
		first, err := fsys.Lock(dir + "/LOCK")
		must(t, err)
		_, err = fsys.Lock(dir + "/LOCK")
		var locked *LockedError
		if !errors.As(err, &locked) {
			t.Fatalf("second lock: got %v", err)
		}
		if _, real := fsys.(osFS); real && locked.PID != os.Getpid() {
			t.Errorf("holder: got %d, want %d", locked.PID, os.Getpid())
		}
		if err := fsys.Locked(dir + "/LOCK"); !errors.As(err, &locked) {
			t.Errorf("asked about a lock: got %v", err)
		}
		must(t, first.Close())
		must(t, fsys.Locked(dir+"/LOCK"))
		again, err := fsys.Lock(dir + "/LOCK")
		must(t, err)
		must(t, again.Close())
	})
}

func TestFree(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		if total, err := fsys.Total(dir); err != nil || total <= 0 {
			t.Errorf("the disk holds %d, %v", total, err)
		}
		if free, err := fsys.Free(dir); err != nil || free <= 0 {
			t.Errorf("got %d, %v", free, err)
		}
	})
}
