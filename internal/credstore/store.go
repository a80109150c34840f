package credstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/watch"
)

// Options are how the store follows its file.
type Options struct {
	Watch watch.Options
}

// DefaultOptions are the options of a broker.
func DefaultOptions() Options { return Options{Watch: watch.DefaultOptions()} }

// Subscriber is told of each new snapshot, in order, before the reload is
// reported done. What it returns stands in the reload's log line. It must not
// call the store's Reload, Subscribe or Status.
type Subscriber func(old, next *Snapshot) []zap.Field

// Store is the credentials file in force.
type Store struct {
	path    string // "" is none
	log     *zap.Logger
	metrics *metrics
	watcher *watch.Watcher // nil where there is no file
	current atomic.Pointer[Snapshot]
	watched atomic.Bool // changes are noticed at once

	mu          sync.Mutex // held over a whole reload
	subscribers []Subscriber
	status      Status
	loaded      bool // there was content once: from then on a missing file is a fault
	gone        bool // the file was missing at the last read, after it was there
}

// Open reads the file for the first time. A file that is missing or has no
// bytes is an empty store; a bad or unreadable one is an error, since there is
// no last good one to stand on. With path "" there is no file and never any
// user.
func Open(path string, o Options, log *zap.Logger, reg prometheus.Registerer) (*Store, error) {
	s := &Store{path: path, log: log.Named("credstore"), metrics: newMetrics(reg)}
	s.current.Store(emptySnapshot())
	s.status.File = path
	if path == "" {
		s.metrics.reloads.Count(watch.TriggerStart, Applied, time.Now())
		s.watching(nil)
		return s, nil
	}
	o.Watch.Watching = s.watching
	s.watcher = watch.New(path, o.Watch) // before the first read, so that no change falls between
	if r := s.Reload(TriggerStart); r.Err != nil {
		return nil, inFile(path, r.Err)
	}
	return s, nil
}

// Snapshot is the content in force.
func (s *Store) Snapshot() *Snapshot { return s.current.Load() }

// Scram is the user's credential in the content in force.
func (s *Store) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	return s.Snapshot().Scram(user, m)
}

// Plain is the user's password check in the content in force.
func (s *Store) Plain(user string) (check func(password string) bool, ok bool) {
	return s.Snapshot().Plain(user)
}

// Subscribe calls f with the content in force, as a change from nothing, and
// from then on with every change.
func (s *Store) Subscribe(f Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, f)
	f(emptySnapshot(), s.Snapshot())
}

// Status is how the store stands.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.SHA256, status.Users = s.Snapshot().SHA256, len(s.Snapshot().Users)
	status.Watching = s.watched.Load()
	return status
}

// Run follows the file until the context ends.
func (s *Store) Run(ctx context.Context) error {
	if s.watcher == nil {
		<-ctx.Done()
		return nil
	}
	var done sync.WaitGroup
	defer done.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done.Go(func() { s.watcher.Run(ctx) })
	for {
		select {
		case event := <-s.watcher.C():
			s.Reload(Trigger(event.Trigger))
		case <-ctx.Done():
			return nil
		}
	}
}
