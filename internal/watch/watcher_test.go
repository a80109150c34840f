package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

// fake is a notifier whose events the test makes.
type fake struct {
	dirs   []string
	sent   chan fsnotify.Event
	lost   chan error
	closed bool
}

func (f *fake) Add(dir string) error          { f.dirs = append(f.dirs, dir); return nil }
func (f *fake) Close() error                  { f.closed = true; return nil }
func (f *fake) events() <-chan fsnotify.Event { return f.sent }
func (f *fake) errors() <-chan error          { return f.lost }

// stage is a watcher in a bubble, on a real folder with made-up events.
type stage struct {
	t     *testing.T
	w     *Watcher
	fakes []*fake
	none  atomic.Bool // no notifier is to be had
	told  []bool
	dir   string
	file  string
	stop  func()
}

func newStage(t *testing.T, dir string) *stage {
	s := &stage{t: t, dir: dir, file: filepath.Join(dir, "c.json")}
	write(t, s.file, "1")
	o := DefaultOptions()
	o.Watching = func(err error) { s.told = append(s.told, err == nil) }
	s.w = New(s.file, o)
	s.w.open = func() (notifier, error) {
		if s.none.Load() {
			return nil, errors.New("too many open files")
		}
		f := &fake{sent: make(chan fsnotify.Event), lost: make(chan error)}
		s.fakes = append(s.fakes, f)
		return f, nil
	}
	return s
}

func (s *stage) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.w.Run(ctx) }()
	s.stop = func() { cancel(); <-done }
	synctest.Wait()
}

func (s *stage) event(name string) {
	s.fakes[len(s.fakes)-1].sent <- fsnotify.Event{Name: name, Op: fsnotify.Write}
	synctest.Wait()
}

// pass lets time go by and gives the event that came, or "".
func (s *stage) pass(d time.Duration) string {
	<-time.After(d) // virtual
	synctest.Wait()
	select {
	case e := <-s.w.C():
		return e.Trigger
	default:
		return ""
	}
}

func (s *stage) expect(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: got event %q, want %q", what, got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func bubble(t *testing.T, f func(s *stage)) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { f(newStage(t, dir)) })
}

func TestBurstOfEventsIsOneEvent(t *testing.T) {
	bubble(t, func(s *stage) {
		s.run()
		defer s.stop()
		for range 4 {
			s.event(s.file)
			s.expect("within the burst", s.pass(100*time.Millisecond), "")
		}
		s.expect("after 199 ms", s.pass(99*time.Millisecond), "")
		s.expect("after 200 ms", s.pass(time.Millisecond), TriggerWatch)
		s.expect("and no more", s.pass(5*time.Second), "")
	})
}

// TestBurstsEnd: a file that is written without a pause is read twice a second, or who
// is taken out of it would keep access for as long.
func TestBurstsEnd(t *testing.T) {
	bubble(t, func(s *stage) {
		s.run()
		defer s.stop()
		for range 10 {
			for range 4 {
				s.event(s.file)
				s.expect("within half a second", s.pass(100*time.Millisecond), "")
			}
			s.event(s.file)
			s.expect("after half a second", s.pass(100*time.Millisecond), TriggerWatch)
		}
		s.expect("and no more", s.pass(5*time.Second), "")
	})
}

func TestOtherNamesDoNotMatter(t *testing.T) {
	bubble(t, func(s *stage) {
		s.run()
		defer s.stop()
		s.event(filepath.Join(s.dir, "other.json"))
		s.event(filepath.Join(s.dir, ".c.json.swp"))
		s.expect("other names", s.pass(time.Second), "")
		s.event(s.dir)
		s.expect("the folder itself", s.pass(time.Second), TriggerWatch)
	})
}

func TestLostEventsAreABurst(t *testing.T) {
	bubble(t, func(s *stage) {
		s.run()
		defer s.stop()
		s.fakes[0].lost <- fsnotify.ErrEventOverflow
		s.expect("overflow", s.pass(time.Second), TriggerWatch)
	})
}

func TestLookFindsWhatSentNoEvent(t *testing.T) {
	bubble(t, func(s *stage) {
		s.run()
		defer s.stop()
		for _, c := range []struct {
			name   string
			change func()
		}{
			{"size", func() { write(s.t, s.file, "123") }},
			{"inode", func() { write(s.t, s.file+"2", "456"); os.Rename(s.file+"2", s.file) }},
			{"time", func() { os.Chtimes(s.file, time.Unix(1, 0), time.Unix(1, 0)) }},
			{"removal", func() { os.Remove(s.file) }},
			{"return", func() { write(s.t, s.file, "back") }},
		} {
			c.change()
			s.expect(c.name, s.pass(10*time.Second), TriggerPoll)
			s.expect("nothing after "+c.name, s.pass(20*time.Second), "")
		}
	})
}

func TestChangeBeforeRunIsAnEvent(t *testing.T) {
	bubble(t, func(s *stage) {
		write(t, s.file, "changed")
		s.run()
		defer s.stop()
		s.expect("at once", s.pass(0), TriggerPoll)
	})
}

func TestEventsNotTakenFoldIntoOne(t *testing.T) {
	bubble(t, func(s *stage) {
		s.run()
		defer s.stop()
		for range 3 {
			s.event(s.file)
			<-time.After(time.Second) // virtual
		}
		s.expect("first", s.pass(0), TriggerWatch)
		s.expect("second", s.pass(0), "")
	})
}

func TestWithoutInotifyTheLookGoesOn(t *testing.T) {
	bubble(t, func(s *stage) {
		s.none.Store(true)
		s.run()
		defer s.stop()
		write(t, s.file, "123")
		s.expect("look", s.pass(10*time.Second), TriggerPoll)
		s.expect("nothing new", s.pass(30*time.Second), "")
		if diff := cmp.Diff([]bool{false}, s.told); diff != "" {
			t.Errorf("told more than once: %s", diff)
		}
		s.none.Store(false)
		s.expect("nothing new", s.pass(10*time.Second), "")
		if diff := cmp.Diff([]bool{false, true}, s.told); diff != "" {
			t.Errorf("a new watch was not tried: %s", diff)
		}
		s.event(s.file)
		s.expect("event", s.pass(time.Second), TriggerWatch)
	})
}

func TestDeadNotifierIsReplaced(t *testing.T) {
	bubble(t, func(s *stage) {
		s.run()
		defer s.stop()
		close(s.fakes[0].sent)
		s.expect("look", s.pass(10*time.Second), "")
		if len(s.fakes) != 2 || !s.fakes[0].closed {
			t.Errorf("%d notifiers, first closed: %v", len(s.fakes), s.fakes[0].closed)
		}
	})
}

func TestReplacedFolderIsWatchedAnew(t *testing.T) {
	bubble(t, func(s *stage) {
		s.dir = filepath.Join(s.dir, "sub")
		s.file = filepath.Join(s.dir, "c.json")
		os.Mkdir(s.dir, 0o700)
		write(t, s.file, "1")
		s.w.path = s.file
		s.w.last = follow(s.file)
		s.run()
		defer s.stop()
		os.Rename(s.dir, s.dir+".old")
		os.Mkdir(s.dir, 0o700)
		write(t, s.file, "2")
		s.expect("look", s.pass(10*time.Second), TriggerPoll)
		if len(s.fakes) != 2 {
			t.Errorf("%d notifiers, want a second one", len(s.fakes))
		}
		os.RemoveAll(s.dir)
		s.expect("look", s.pass(10*time.Second), TriggerPoll)
		last := s.fakes[len(s.fakes)-1]
		if !slices.Equal(last.dirs, []string{filepath.Dir(s.dir)}) {
			t.Errorf("watched %v, want the folder in which it would appear", last.dirs)
		}
	})
}

func TestRunEndsItsWatch(t *testing.T) {
	bubble(t, func(s *stage) {
		s.run()
		s.stop()
		if !s.fakes[0].closed {
			t.Error("the notifier is open")
		}
	})
}
