package certificate

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/watch"
)

// Options are what a store holds and how it follows it.
type Options struct {
	Files
	MinVersion uint16 // tls.VersionTLS12 or tls.VersionTLS13 (tls.min.version)
	Watch      watch.Options
}

// DefaultOptions are those of a broker, without files.
func DefaultOptions() Options {
	return Options{MinVersion: tls.VersionTLS12, Watch: watch.DefaultOptions()}
}

// Store is the set in force.
type Store struct {
	options  Options
	log      *zap.Logger
	metrics  *metrics
	watchers []*watch.Watcher
	current  atomic.Pointer[set]

	mu     sync.Mutex // held over a whole reload
	status Status
	begins time.Time // when to read again what has not begun; zero: nothing is awaited
}

// Status is how a store stands.
type Status struct {
	NotAfter time.Time // when the first certificate in force ends
	InForce  time.Time // since when the set is in force
	Error    string    // what was wrong at the last read, or ""
}

// Open reads the files for the first time. What does not fit together is an
// error: there is no last good set to stand on.
func Open(o Options, log *zap.Logger, reg prometheus.Registerer) (*Store, error) {
	s := &Store{options: o, log: log.Named("certificate"), metrics: newMetrics(reg)}
	for _, path := range o.paths() {
		w := o.Watch
		w.Watching = func(err error) { s.watching(path, err) }
		s.watchers = append(s.watchers, watch.New(path, w)) // before the first read, so that no change falls between
	}
	if r := s.Reload(watch.TriggerStart); r.Err != nil {
		return nil, r.Err
	}
	return s, nil
}

func (s *Store) watching(path string, err error) {
	if err != nil {
		s.log.Warn("certificate file cannot be watched, changes are noticed by a slow look", zap.String("file", path), zap.Error(err))
	}
}

// Source is the store as listeners of one ClientAuth see it.
type Source struct {
	store *Store
	auth  ClientAuth
}

// For is what listeners take that ask clients for certificates so. Other than
// None it needs Files.ClientCA.
func (s *Store) For(auth ClientAuth) Source { return Source{s, auth} }

// Config is the configuration in force, for the next handshake.
func (s Source) Config() *tls.Config { return s.store.current.Load().configs[s.auth] }

// Status is how the store stands.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.NotAfter = s.current.Load().firstEnd(status.InForce)
	return status
}

// Run follows the files until the context ends.
func (s *Store) Run(ctx context.Context) error {
	var own sync.WaitGroup
	for _, w := range s.watchers {
		own.Go(func() { w.Run(ctx) })
		own.Go(func() { s.follow(ctx, w) })
	}
	own.Go(func() { s.await(ctx) })
	own.Wait()
	return nil
}

func (s *Store) follow(ctx context.Context, w *watch.Watcher) {
	for {
		select {
		case event := <-w.C():
			s.Reload(event.Trigger)
		case <-ctx.Done():
			return
		}
	}
}

// await reads certificates again once they have begun: their files do not
// change then.
func (s *Store) await(ctx context.Context) {
	looks := time.NewTicker(s.options.Watch.Look)
	defer looks.Stop()
	for {
		select {
		case now := <-looks.C:
			if s.begun(now) {
				s.Reload(watch.TriggerPoll)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) begun(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.begins.IsZero() && now.After(s.begins)
}
