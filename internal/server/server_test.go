package server

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
)

// bytesPayload is an answer in memory.
type bytesPayload struct {
	bytes    []byte
	released *atomic.Int32
}

func (p *bytesPayload) Size() int { return len(p.bytes) }

func (p *bytesPayload) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(p.bytes)
	return int64(n), err
}

func (p *bytesPayload) Release() {
	if p.released != nil {
		p.released.Add(1)
	}
}

// framed is a body with its size before it.
func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// reply is an answer that is written at once, alone.
func reply(body []byte) Answer {
	return Answer{Payload: &bytesPayload{bytes: framed(body)}, Alone: true}
}

// handler serves every session with one function; the rest can be set.
type handler struct {
	serve   func(ctx context.Context, r *Request) (Answer, error)
	admit   func(size int, head []byte) error
	hold    func() Mute // of Admit
	strange func() bool // not established while it says so
	sent    func(work time.Duration)
	name    func() string // whose frames are that come now

	connected, ended atomic.Int32
}

func (h *handler) Connect(c Conn) (Session, error) {
	h.connected.Add(1)
	return &session{handler: h, conn: c}, nil
}

type session struct {
	handler *handler
	conn    Conn
}

func (s *session) Admit(size int, head []byte) (Mute, error) {
	if s.handler.hold != nil {
		return s.handler.hold(), nil
	}
	if s.handler.admit != nil {
		return nil, s.handler.admit(size, head)
	}
	return nil, nil
}

func (s *session) Serve(ctx context.Context, r *Request) (Answer, error) {
	return s.handler.serve(ctx, r)
}

func (s *session) Established() bool { return s.handler.strange == nil || !s.handler.strange() }
func (s *session) Sent(work time.Duration) {
	if s.handler.sent != nil {
		s.handler.sent(work)
	}
}
func (s *session) Name() string {
	if s.handler.name == nil {
		return ""
	}
	return s.handler.name()
}
func (s *session) End() { s.handler.ended.Add(1) }

// echo answers every frame with itself.
func echo(_ context.Context, r *Request) (Answer, error) {
	return reply(append([]byte(nil), r.Frame...)), nil
}

// rig is a server that runs for one test.
type rig struct {
	*Server
	t    testing.TB
	reg  *prometheus.Registry
	stop context.CancelFunc
	done chan error
	once sync.Once
	err  error
}

func testOptions() Options {
	o := DefaultOptions()
	o.Listeners = []Listener{{Name: "PLAINTEXT", Protocol: Plaintext, Address: "127.0.0.1:0"}}
	return o
}

// start runs a server on loopback until the test ends.
func start(t testing.TB, o Options, h Handler) *rig {
	t.Helper()
	r := prepare(t, o, h, zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)))
	if err := r.Listen(); err != nil {
		t.Fatal(err)
	}
	r.run()
	return r
}

func prepare(t testing.TB, o Options, h Handler, log *zap.Logger) *rig {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	return &rig{Server: New(o, h, log, reg), t: t, reg: reg, done: make(chan error, 1)}
}

func (r *rig) run() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.done <- r.Run(ctx) }()
	r.t.Cleanup(func() { r.end() })
}

// end stops the server and waits for it.
func (r *rig) end() error {
	r.once.Do(func() {
		r.stop()
		r.err = <-r.done
	})
	return r.err
}

// client is a peer that speaks in frames.
type client struct {
	net.Conn
	t testing.TB
}

func (r *rig) dial() *client {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.Listeners()[0].Address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.Close() })
	return &client{nc, r.t}
}

func (c *client) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatalf("send %d bytes: %v", len(b), err)
	}
}

func (c *client) receive() []byte {
	c.t.Helper()
	body, err := readFrame(c)
	if err != nil {
		c.t.Fatalf("receive: %v", err)
	}
	return body
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, body)
	return body, err
}

// closed waits until the server has closed the connection, without a byte.
func (c *client) closed() {
	c.t.Helper()
	n, err := io.Copy(io.Discard, c)
	if n > 0 {
		c.t.Fatalf("got %d bytes and %v, want the connection closed", n, err)
	}
}

// pipes is a listener without a network, for bubbles.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// bubble runs f in fake time with a server that takes pipes.
func bubble(t *testing.T, o Options, h Handler, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, o, h, zap.NewNop())
		r.doors[0].bound(&pipes{conns: make(chan net.Conn), done: make(chan struct{})})
		r.run()
		f(t, r)
		r.end()
	})
}

// pipe connects a client inside a bubble.
func (r *rig) pipe() *client {
	r.t.Helper()
	near, far := net.Pipe()
	r.doors[0].socket.(*pipes).conns <- far
	r.t.Cleanup(func() { near.Close() })
	return &client{near, r.t}
}

// value reads one series of the server's metrics.
func (r *rig) value(name string, labels ...string) float64 {
	r.t.Helper()
	families, err := r.reg.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetValue())
			}
			if slices.Equal(got, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	r.t.Fatalf("no series %s%v", name, labels)
	return 0
}

func TestEchoSizes(t *testing.T) {
	r := start(t, testOptions(), &handler{serve: echo})
	c := r.dial()
	for _, size := range []int{0, 1, 4, 507, 508, 509, 4096, 4097, 262144, 262145, 1 << 20, 1<<20 + 1, 5<<20 + 3} {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(i * 7)
		}
		go c.Write(framed(body))
		got := c.receive()
		if string(got) != string(body) {
			t.Errorf("frame of %d bytes came back as %d other bytes", size, len(got))
		}
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if held, _ := r.memory.members(); held != 0 {
		t.Errorf("got %d bytes still taken, want 0", held)
	}
}
