package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// room is one part of the broker with a life of its own.
type room struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // set before done is closed
}

// enter starts a room. Its context is its own, so that rooms can be stopped one
// after the other.
func enter(name string, run func(context.Context) error, ended chan<- *room) *room {
	ctx, cancel := context.WithCancel(context.Background())
	r := &room{name: name, cancel: cancel, done: make(chan struct{})}
	go func() {
		r.err = run(ctx)
		close(r.done)
		ended <- r
	}()
	return r
}

// Run recovers the data folder and serves until ctx ends, then stops from the
// outside in: listeners, connections, background work, storage, the admin side
// last. It returns nil after a clean stop, and only when every goroutine it
// started has ended, but for what shutdown.timeout cuts.
func (b *Broker) Run(ctx context.Context) error {
	ended := make(chan *room, 7)
	http := enter("http", b.admin.Run, ended)
	if err := b.open(); err != nil {
		b.close()
		return errors.Join(err, stop([]*room{http}, b.cfg.ShutdownTimeout))
	}
	rooms := []*room{ // in the order they stop
		enter("server", b.server.Run, ended),
		enter("credentials", b.credentials.Run, ended),
		enter("quotas", b.quotas.Run, ended),
		enter("certificates", b.followCertificates, ended),
		enter("groups", b.groups.Run, ended),
		enter("storage", b.store.Run, ended),
		http,
	}
	b.serving.Store(true)
	close(b.ready)

	var failure error
	select {
	case <-ctx.Done():
	case r := <-ended:
		failure = fmt.Errorf("%s ended while the broker was running: %w", r.name, r.err)
		b.log.Error("a part of the broker has ended", zap.String("room", r.name), zap.Error(r.err))
	}
	b.serving.Store(false)
	time.Sleep(b.cfg.ShutdownDelay)
	return errors.Join(failure, stop(rooms, b.cfg.ShutdownTimeout))
}

// followCertificates has nothing to follow where no listener has TLS.
func (b *Broker) followCertificates(ctx context.Context) error {
	if b.certificates == nil {
		<-ctx.Done()
		return nil
	}
	return b.certificates.Run(ctx)
}

var errStopTimeout = errors.New("shutdown.timeout passed before everything had stopped")

// stop ends the rooms one after the other.
func stop(rooms []*room, limit time.Duration) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for _, r := range rooms {
		r.cancel()
		select {
		case <-r.done:
		case <-timeout.C:
			return fmt.Errorf("stop %s: %w", r.name, errStopTimeout)
		}
	}
	var errs []error
	for _, r := range rooms {
		if r.err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", r.name, r.err))
		}
	}
	return errors.Join(errs...)
}
