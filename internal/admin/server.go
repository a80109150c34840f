package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/quota"
)

// Options are how the HTTP side is run.
type Options struct {
	Listen string // host:port; empty: off; port 0 takes a free one (http.listen)
	// MaxConnections is how many connections are open at once; 0: MaxConnections
	// (http.max.connections).
	MaxConnections int
	Lifecycle      bool  // POST /-/reload is served (http.enable.lifecycle)
	Pprof          bool  // /debug/pprof/ is served (http.enable.pprof)
	Gate           *Gate // what stands before the pages; nil: nothing (http.config.file)
}

// Deps is where the answers come from. Functions may be called together, at
// any time after Listen.
type Deps struct {
	// Alive is an error when a restart would help.
	Alive func() error
	// Checks are what readiness is made of, in the order to show them.
	Checks func() []Check
	Status func() Status
	Quotas func(f quota.StatusFilter, now time.Time) Quotas
	// Resolve says which limits hold for a client, ResolveAddress which for
	// the connections of an address; its error is about the text.
	Resolve        func(user, clientID string) []quota.Resolution
	ResolveAddress func(ip string) ([]quota.Resolution, error)
	// Reload reads the credentials file again and gives the result in words.
	Reload  func(ctx context.Context) (string, error)
	Metrics prometheus.Gatherer
}

// Server serves the pages.
type Server struct {
	o        Options
	deps     Deps
	log      *zap.Logger
	pages    []page
	listener *lobby // nil: the HTTP side is off
}

// New makes a server that is not bound yet.
func New(o Options, deps Deps, log *zap.Logger) *Server {
	s := &Server{o: o, deps: deps, log: log.Named("admin")}
	s.pages = s.index()
	return s
}

// Listen binds the address, so that a taken port is known before anything
// else begins. With an empty address it does nothing.
func (s *Server) Listen() error {
	if s.o.Listen == "" {
		return nil
	}
	l, err := net.Listen("tcp", s.o.Listen)
	if err != nil {
		return listenError(s.o.Listen, err)
	}
	s.listener = newLobby(l, cmp.Or(s.o.MaxConnections, MaxConnections), s.log)
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && s.o.Gate == nil { // an open gate has told
		s.log.Info("http pages are readable by anyone who can reach them", zap.Stringer("address", a))
	}
	return nil
}

func listenError(address string, err error) error {
	host, port, split := net.SplitHostPort(address)
	if split == nil && errors.Is(err, syscall.EADDRINUSE) {
		if host == "" {
			host = "all interfaces"
		}
		return fmt.Errorf("http.listen: port %s on %s is in use", port, host)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("http.listen: %s: %w", address, err)
}

// Addr is the bound address; nil when the HTTP side is off.
func (s *Server) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// The limits of one connection. Answers are small; a profile of a minute and a
// half is the longest. A scraper that comes once a minute finds its connection
// again.
const (
	headerTimeout = 5 * time.Second // for TLS, for the headers, and for the body with them
	answerTimeout = 2 * time.Minute
	idleTimeout   = 3 * time.Minute
	headerBytes   = 16 << 10
	closeTimeout  = time.Second
)

// Run serves until ctx ends. Listen must have been called.
func (s *Server) Run(ctx context.Context) error {
	if s.listener == nil {
		<-ctx.Done()
		return nil
	}
	h := s.receiver()
	var own sync.WaitGroup
	defer own.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	own.Go(func() {
		<-ctx.Done()
		closeHTTP(h)
	})
	if s.o.Gate != nil {
		own.Go(func() { s.o.Gate.run(ctx) })
	}
	if err := h.Serve(s.doorway()); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

func (s *Server) receiver() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		ConnContext:       greet,
		ConnState:         s.listener.moved,
		ErrorLog:          zap.NewStdLog(s.log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel))),

		DisableGeneralOptionsHandler: true, // which answers OPTIONS * without our headers, before the Gate
	}
}

// doorway is the listener, with TLS where there is to be TLS.
func (s *Server) doorway() net.Listener {
	if s.o.Gate == nil || !s.o.Gate.TLS() {
		return s.listener
	}
	return tls.NewListener(newModest(s.listener), s.o.Gate.config())
}

// closeHTTP lets answers in flight finish for a moment, then cuts them.
func closeHTTP(h *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if h.Shutdown(ctx) != nil {
		h.Close()
	}
}
