package admin

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/auth"
	"kaasd/internal/certificate"
	"kaasd/internal/watch"
)

// Gate is what stands before the pages: TLS and passwords, from a file in the
// format that Prometheus' exporters share (http.config.file). The file, and the
// certificates that it names, are read again when they change; as long as they
// are not usable, or would let somebody in whom the last good ones keep out, those
// stay in force.
type Gate struct {
	path  string
	log   *zap.Logger
	watch watch.Options
	tries *auth.Tries
	turn  chan struct{} // held while a password is hashed, which is made to be slow

	reloads  *watch.Reloads
	notAfter *prometheus.GaugeVec // file
	current  atomic.Pointer[lock]

	mu     sync.Mutex // held over a whole reload
	since  time.Time
	fault  string
	begins time.Time // when to read again a certificate that has not begun; zero: none is awaited

	knownMu sync.Mutex
	known   map[[32]byte]bool // log-ins that were good, at most maxKnown
}

// OpenGate reads the file for the first time. There is no last good one to stand
// on, so a bad one is an error, but for a certificate that has ended or not begun: the
// log tells of that as an error, as it does for listeners. Of one that opens the pages to everybody, as half of a
// file may, the log warns. failedPerIP is how many log-ins from one address
// may fail in a minute; 0: no limit (max.failed.logins.per.ip).
func OpenGate(path string, failedPerIP int, log *zap.Logger, reg prometheus.Registerer) (*Gate, error) {
	g := &Gate{
		path: path, log: log.Named("admin"), watch: watch.DefaultOptions(), tries: auth.NewTries(failedPerIP), turn: make(chan struct{}, 1),
		since: time.Now(), known: map[[32]byte]bool{},
	}
	first, err := readLock(path)
	if err != nil {
		return nil, fmt.Errorf("http.config.file: %w", err)
	}
	g.registerMetrics(reg)
	g.reloads.Count(watch.TriggerStart, watch.Applied, g.since)
	g.enforce(first)
	if reason := first.opening(); reason != "" {
		g.log.Warn("http.config.file leaves the pages open to anyone who can reach them", zap.String("file", path), zap.String("reason", reason))
	}
	return g, nil
}

// enforce puts in force what was read now, at since.
func (g *Gate) enforce(l *lock) {
	g.current.Store(l)
	if l.tls != nil {
		g.notAfter.WithLabelValues("http.config.file").Set(float64(l.end(g.since).Unix()))
	}
	l.tell(g.log, g.path, g.since)
}

// TLS says whether the pages are served over TLS. That does not change while
// running.
func (g *Gate) TLS() bool { return g.current.Load().tls != nil }

// Fault is why the files are not usable that are there now; "" when they are.
func (g *Gate) Fault() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fault
}

// Status is the state of the files.
func (g *Gate) Status() HTTPConfig {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := HTTPConfig{InForceSince: g.since.UTC(), Error: g.fault}
	if l := g.current.Load(); l.tls != nil {
		end := l.end(g.since).UTC()
		s.NotAfter = &end
	}
	return s
}

// Reload reads the files again and puts them in force if they are good. The line
// says what became of it, the error that it is not good.
func (g *Gate) Reload(trigger string) (line string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.current.Load()
	next, err := held.next(g.path, time.Now())
	g.fault, g.begins = "", certificate.Begins(err)
	switch {
	case err != nil:
		g.fault = err.Error()
		g.reloads.Count(trigger, watch.Failed, time.Now())
		g.log.Error("http config not reloaded, the last good one stays in force", zap.String("trigger", trigger), zap.String("file", g.path),
			zap.Error(err), zap.Time("in_force_since", g.since.UTC()))
		return "", fmt.Errorf("http config not reloaded, the last good one stays in force: %w", err)
	case next.sum == held.sum:
		g.reloads.Count(trigger, watch.Unchanged, time.Now())
		g.log.Debug("http config unchanged", zap.String("trigger", trigger))
		return "http config unchanged", nil
	}
	g.since = time.Now()
	g.enforce(next)
	g.reloads.Count(trigger, watch.Applied, g.since)
	g.log.Info("http config reloaded", zap.String("trigger", trigger), zap.String("file", g.path), zap.Bool("tls", next.tls != nil), zap.Int("users", len(next.users)))
	return fmt.Sprintf("http config reloaded: %d users", len(next.users)), nil
}

// run follows the files until the context ends.
func (g *Gate) run(ctx context.Context) {
	for ctx.Err() == nil {
		g.follow(ctx, g.current.Load().files)
	}
}

// follow watches some files until others are in force.
func (g *Gate) follow(ctx context.Context, files []string) {
	var own sync.WaitGroup
	defer own.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan string)
	own.Go(func() { g.await(ctx, changed) })
	for _, file := range files {
		w := watch.New(file, g.watch)
		own.Go(func() { w.Run(ctx) })
		own.Go(func() { pass(ctx, w.C(), changed) })
	}
	for {
		select {
		case trigger := <-changed:
			before := g.current.Load()
			if _, err := g.Reload(trigger); err == nil && g.current.Load() != before {
				return // it may name other files
			}
		case <-ctx.Done():
			return
		}
	}
}

// await has a certificate read again once it has begun: its file does not change then.
func (g *Gate) await(ctx context.Context, changed chan<- string) {
	looks := time.NewTicker(g.watch.Look)
	defer looks.Stop()
	for {
		select {
		case now := <-looks.C:
			if !g.begun(now) {
				continue
			}
			select {
			case changed <- watch.TriggerPoll:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (g *Gate) begun(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.begins.IsZero() && now.After(g.begins)
}

func pass(ctx context.Context, events <-chan watch.Event, changed chan<- string) {
	for {
		select {
		case e := <-events:
			select {
			case changed <- e.Trigger:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
