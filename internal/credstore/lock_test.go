package credstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func addTLS(name string) func(*Document) error {
	return func(d *Document) error { return d.Add(name, Change{TLSCN: name}) }
}

// None of many edits at once is lost, whichever way they come to the file.
func TestEditsAtOnce(t *testing.T) {
	real := file(t)
	link := file(t)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Symlink(filepath.Dir(real), folder); err != nil {
		t.Fatal(err)
	}
	write(t, real, names("gone"))
	paths := []string{real, link, filepath.Join(folder, filepath.Base(real))}
	const edits = 60
	synctest.Test(t, func(t *testing.T) { // so that a slow disk is no wait
		var all sync.WaitGroup
		for i := range edits {
			all.Go(func() {
				if err := Edit(paths[i%len(paths)], true, addTLS(fmt.Sprint("u", i))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if err := Edit(link, false, func(d *Document) error { return d.Remove("gone") }); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
	})
	s, _, err := Parse([]byte(read(t, real)))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Users) != edits || s.Users["gone"] != nil {
		t.Errorf("%d users, gone is %v", len(s.Users), s.Users["gone"])
	}
}

// An edit waits for who holds the folder, and gives up with everything as it was.
func TestEditsWait(t *testing.T) {
	for name, c := range map[string]struct {
		held time.Duration
		want string
	}{
		"a while":  {lockWait - time.Second, ""},
		"too long": {lockWait + time.Second, " is locked by another process for 5s, nothing is written (lslocks shows by which one; try again)"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			write(t, path, names("a"))
			synctest.Test(t, func(t *testing.T) {
				release, err := lockFolder(filepath.Dir(path))
				if err != nil {
					t.Fatal(err)
				}
				var holder sync.WaitGroup
				holder.Go(func() {
					time.Sleep(c.held)
					release()
				})
				defer holder.Wait()
				err = Edit(path, false, addTLS("b"))
				if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != "the folder "+filepath.Dir(path)+c.want) {
					t.Errorf("got %v", err)
				}
			})
			if got := strings.Contains(read(t, path), `"b"`); got != (c.want == "") {
				t.Errorf("written: %v", got)
			}
		})
	}
}

// What cannot be locked, as on some file systems, is not waited for.
func TestNoLocks(t *testing.T) {
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.Close() // no such descriptor: the lock fails, and nobody holds it
	if err := waitForLock(f); err != nil {
		t.Error(err)
	}
}

// A link that leads elsewhere after the wait is not what was asked for.
func TestEditOfALinkThatTurns(t *testing.T) {
	old, next, link := file(t), file(t), file(t)
	write(t, old, names("a"))
	write(t, next, names("a"))
	if err := os.Symlink(old, link); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		release, err := lockFolder(filepath.Dir(old))
		if err != nil {
			t.Fatal(err)
		}
		var turner sync.WaitGroup
		turner.Go(func() {
			time.Sleep(time.Second)
			os.Remove(link)
			os.Symlink(next, link)
			release()
		})
		defer turner.Wait()
		if err := Edit(link, false, addTLS("b")); err == nil || !strings.Contains(err.Error(), "meanwhile") {
			t.Errorf("got %v", err)
		}
	})
	if read(t, old) != names("a") || read(t, next) != names("a") {
		t.Error("written")
	}
}
