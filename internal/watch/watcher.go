package watch

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options are how closely a path is watched.
type Options struct {
	Quiet time.Duration // how long nothing must happen before a burst of events counts
	Most  time.Duration // how long a burst is at the most: who writes without a pause is read nevertheless
	Look  time.Duration // how often size, time and inode are looked at

	// Watching is told when file events begin to arrive (nil) and when
	// there are none to be had (why). It is called from Run. Nil is nobody.
	Watching func(err error)
}

// DefaultOptions are 200 ms of quiet, bursts of half a second, and a look every 10 s.
func DefaultOptions() Options {
	return Options{Quiet: 200 * time.Millisecond, Most: 500 * time.Millisecond, Look: 10 * time.Second}
}

// The triggers of an Event.
const (
	TriggerWatch = "watch" // file events
	TriggerPoll  = "poll"  // the slow look
)

// Event says that the file should be read again.
type Event struct{ Trigger string }

// Watcher watches one path.
type Watcher struct {
	path    string
	options Options
	events  chan Event
	open    func() (notifier, error)

	last  trail     // as it was when the last event was sent
	begun time.Time // when the burst did; zero: there is none

	armed    notifier // nil while no events are to be had
	set      trail    // what it is armed for
	told     bool     // Watching was told
	watching bool     // what it was told
}

// notifier is the events of folders: fsnotify, or a test.
type notifier interface {
	Add(dir string) error
	Close() error
	events() <-chan fsnotify.Event
	errors() <-chan error
}

type inotify struct{ *fsnotify.Watcher }

func (n inotify) events() <-chan fsnotify.Event { return n.Events }
func (n inotify) errors() <-chan error          { return n.Errors }

func openInotify() (notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return inotify{w}, nil
}

// New makes a watcher that starts from the file as it is now: whatever
// changes between New and Run is an event.
func New(path string, o Options) *Watcher {
	return &Watcher{path: path, options: o, events: make(chan Event, 1), open: openInotify, last: follow(path)}
}

// C is the events. One that is not taken stands for all that come after it.
func (w *Watcher) C() <-chan Event { return w.events }

// Run watches until the context ends.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.disarm()
	w.look()
	looks := time.NewTicker(w.options.Look)
	defer looks.Stop()
	quiet := time.NewTimer(w.options.Quiet)
	quiet.Stop()
	defer quiet.Stop()
	for {
		events, errors := w.sources()
		select {
		case e, ok := <-events:
			if !ok {
				w.disarm()
			} else if w.matters(e) {
				quiet.Reset(w.pause(time.Now()))
			}
		case <-errors: // events were lost
			quiet.Reset(w.pause(time.Now()))
		case <-quiet.C:
			w.burst()
		case <-looks.C:
			w.look()
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *Watcher) sources() (<-chan fsnotify.Event, <-chan error) {
	if w.armed == nil {
		return nil, nil
	}
	return w.armed.events(), w.armed.errors()
}

// matters says whether an event is about the path: about a name on its way,
// or about a folder that holds one.
func (w *Watcher) matters(e fsnotify.Event) bool {
	_, folder := w.set.dirs[e.Name]
	return folder || w.set.names[e.Name]
}

// pause is how long nothing must happen after an event for its burst to end.
func (w *Watcher) pause(now time.Time) time.Duration {
	if w.begun.IsZero() {
		w.begun = now
	}
	return min(w.options.Quiet, w.begun.Add(w.options.Most).Sub(now))
}

// burst ends a burst of events. The watch is set before the event is sent, so
// that what changes after the receiver's read is seen.
func (w *Watcher) burst() {
	w.begun = time.Time{}
	w.last = w.rearm()
	w.send(TriggerWatch)
}

// look finds what sent no event.
func (w *Watcher) look() {
	now := w.rearm()
	if now.changed(w.last) {
		w.last = now
		w.send(TriggerPoll)
	}
}

func (w *Watcher) send(trigger string) {
	select {
	case w.events <- Event{trigger}:
	default: // one that waits to be taken will do
	}
}

// rearm sets the watch anew if the path leads elsewhere than it is set for,
// and returns the way as it is once the watch is set. A way that changes under
// its feet is walked again a few times; the next look does the rest.
func (w *Watcher) rearm() trail {
	now := follow(w.path)
	for try := 0; try < 3 && (w.armed == nil || !now.same(w.set)); try++ {
		if w.arm(now); w.armed == nil {
			return now
		}
		now = follow(w.path)
	}
	return now
}

// arm begins to watch the folders of t, all of them or none.
func (w *Watcher) arm(t trail) {
	w.disarm()
	n, err := w.open()
	if err != nil {
		w.tell(err)
		return
	}
	for dir := range t.dirs {
		if err := n.Add(dir); err != nil {
			n.Close()
			w.tell(err)
			return
		}
	}
	w.armed, w.set = n, t
	w.tell(nil)
}

func (w *Watcher) disarm() {
	if w.armed != nil {
		w.armed.Close()
		w.armed = nil
	}
}

// tell passes on whether there are events, when that changes.
func (w *Watcher) tell(err error) {
	if w.told && w.watching == (err == nil) {
		return
	}
	w.told, w.watching = true, err == nil
	if w.options.Watching != nil {
		w.options.Watching(err)
	}
}
