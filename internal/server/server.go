package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

var (
	errStopping = errors.New("the server is stopping")
	errEnded    = errors.New("the session was ended")
	errGone     = errors.New("the peer went away")
	errCut      = errors.New("the time to stop has run out")
)

// Server accepts connections on its listeners and serves them.
type Server struct {
	options Options
	handler Handler
	log     *zap.Logger
	repeats Repeats
	memory  pools
	doors   []*door
	porch   *porch
	seats   seats
	crowd   crowd // of handshakes
	shaking Turns // handshakes that calculate
	closing closings

	// stopping is closed when Run is asked to stop, stopped is set before.
	stopping chan struct{}
	stopped  atomic.Pointer[time.Time]
	running  sync.WaitGroup // connections and their flushers
	hangups  *hangups       // nil where peers have to be peeked at

	ids      atomic.Uint64
	maxConns int // Options.MaxConnections, or what memory has room for, within the descriptors there are

	mu     sync.Mutex
	conns  map[uint64]*conn
	byHost map[string]int
}

// door is a listener with its socket and its counters.
type door struct {
	Listener
	socket  net.Listener
	metrics metrics
	refused int // connections, for the quota; its accept loop counts
}

// New makes a server; it binds and starts nothing. The options must be valid.
func New(o Options, h Handler, log *zap.Logger, reg prometheus.Registerer) *Server {
	s := &Server{
		options:  o,
		handler:  h,
		log:      log.Named("server"),
		memory:   newPools(o.RequestMemory),
		porch:    newPorch(leastRefused),
		seats:    make(seats, o.Handshakes),
		crowd:    newCrowd(o.Handshakes),
		shaking:  NewTurns(),
		closing:  closings{Turns: NewTurns()},
		stopping: make(chan struct{}),
		maxConns: o.mostConnections(),
		conns:    map[uint64]*conn{},
		byHost:   map[string]int{},
	}
	for i, m := range newMetrics(reg, o.Listeners) {
		s.doors = append(s.doors, &door{Listener: o.Listeners[i], metrics: m})
	}
	return s
}

// Listen binds every listener, or none: an error names the address that
// cannot be had. It raises the limit of open descriptors as far as it goes.
func (s *Server) Listen() error {
	s.budget()
	for _, d := range s.doors {
		socket, err := net.Listen("tcp", d.Address)
		if err != nil {
			s.closeDoors()
			return bindError(d.Address, err)
		}
		d.bound(socket)
	}
	return nil
}

// Probe finds out whether the listeners could be bound, and binds none: so that
// an address in use is known before anything else is touched.
func Probe(listeners []Listener) error {
	for _, l := range listeners {
		socket, err := net.Listen("tcp", l.Address)
		if err != nil {
			return bindError(l.Address, err)
		}
		socket.Close()
	}
	return nil
}

// bound takes the socket and learns the port it got.
func (d *door) bound(socket net.Listener) {
	d.socket = socket
	tcp, ok := socket.Addr().(*net.TCPAddr)
	if !ok {
		return
	}
	if host, _, err := net.SplitHostPort(d.Address); err == nil {
		d.Address = net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	if d.Port == 0 {
		d.Port = tcp.Port
	}
}

// bindError says in an operator's words why an address cannot be had.
func bindError(address string, err error) error {
	host, port, _ := net.SplitHostPort(address)
	if host == "" {
		host = "all addresses"
	}
	var unknown *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %s on %s is in use", port, host)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("port %s on %s needs privileges this process does not have", port, host)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine", host)
	case errors.As(err, &unknown):
		return fmt.Errorf("host %s is not known", host)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}

// Listeners are the listeners of the options; after Listen with the ports
// that were bound.
func (s *Server) Listeners() []Listener {
	all := make([]Listener, len(s.doors))
	for i, d := range s.doors {
		all[i] = d.Listener
	}
	return all
}

// Connections is how many are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Run serves until the context ends, then stops as the package comment says.
// When it returns, every goroutine it started has ended. The error says that
// connections had to be cut. A server runs once.
func (s *Server) Run(ctx context.Context) error {
	s.hangups = newHangups()
	defer s.hangups.close()
	var own sync.WaitGroup // accept loops, the lookout and the porch
	for _, d := range s.doors {
		if d.socket == nil || ctx.Err() != nil {
			continue // Listen failed, and Run is there to close what it got
		}
		s.log.Info("listening", zap.String("listener", d.Name), zap.String("address", d.Address))
		own.Go(func() { s.accept(d) })
	}
	own.Go(s.lookOut)
	own.Go(func() { s.porch.run(s.stopping) })
	<-ctx.Done()
	s.stop()
	own.Wait()
	return s.drain()
}

// stop closes the doors and tells every connection.
func (s *Server) stop() {
	now := time.Now()
	s.stopped.Store(&now)
	close(s.stopping)
	s.closeDoors()
	for _, c := range s.connections() {
		c.interrupt(now)
	}
}

func (s *Server) closeDoors() {
	for _, d := range s.doors {
		if d.socket != nil {
			d.socket.Close()
		}
	}
}

// drain waits for the connections and cuts those that take too long.
func (s *Server) drain() error {
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	timer := time.NewTimer(s.options.DrainTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
	}
	left := s.connections()
	for _, c := range left {
		c.abort(errCut)
	}
	<-done
	return fmt.Errorf("%d connections were not finished within %v and were cut", len(left), s.options.DrainTimeout)
}

// CloseSessions closes the connections whose session matches, within a second:
// at once, or after the answer that is being worked on. What is parked or muted
// gets none. match is called while the sessions serve.
func (s *Server) CloseSessions(match func(Session) bool) {
	for _, c := range s.connections() {
		if session := c.session.Load(); session != nil && match(*session) {
			c.dismiss()
		}
	}
}

// connections is a snapshot of the open connections.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		all = append(all, c)
	}
	return all
}
