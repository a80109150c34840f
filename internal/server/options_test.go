package server

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

func TestValidate(t *testing.T) {
	good := Listener{Name: "PLAINTEXT", Protocol: Plaintext, Address: "localhost:9092"}
	tests := map[string]struct {
		change func(*Options)
		want   string
	}{
		"defaults with a listener": {func(*Options) {}, ""},
		"no listener":              {func(o *Options) { o.Listeners = nil }, "listeners: at least one is needed"},
		"no name":                  {func(o *Options) { o.Listeners[0].Name = "" }, `listeners: "localhost:9092" has no name`},
		"same name twice": {
			func(o *Options) { o.Listeners = append(o.Listeners, good) },
			"listeners: the name PLAINTEXT is there twice",
		},
		"protocol": {
			func(o *Options) { o.Listeners[0].Protocol = "QUIC" },
			`listeners: PLAINTEXT: protocol "QUIC" is not one of [PLAINTEXT SASL_PLAINTEXT SSL SASL_SSL]`,
		},
		"without certificates": {
			func(o *Options) { o.Listeners[0].Protocol = SSL },
			`listeners: PLAINTEXT: SSL and its certificates do not go together`,
		},
		"certificates for nobody": {
			func(o *Options) { o.Listeners[0].TLS = fixed{} },
			`listeners: PLAINTEXT: PLAINTEXT and its certificates do not go together`,
		},
		"fewer handshakes than listeners": {
			func(o *Options) {
				o.Listeners[0].Protocol, o.Listeners[0].TLS = SSL, fixed{}
				o.Listeners = append(o.Listeners, Listener{Name: "B", Protocol: SASLSSL, Address: "localhost:0", TLS: fixed{}})
				o.Handshakes = 1
			},
			`handshakes at a time 1: must be at least 2`,
		},
		"no port": {
			func(o *Options) { o.Listeners[0].Address = "localhost" },
			`listeners: PLAINTEXT: address "localhost" is not host:port`,
		},
		"port too high": {
			func(o *Options) { o.Listeners[0].Address = "localhost:65536" },
			`listeners: PLAINTEXT: port "65536" of "localhost:65536" is not between 0 and 65535`,
		},
		"every fault at once": {
			func(o *Options) { o.MaxConnections, o.Outstanding, o.RequestMemory = 0, -1, 1000 },
			"max.connections 0: must be at least 1\nqueued.max.request.bytes 1000: must be at least 1048576\noutstanding answers -1: must be at least 1",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.Listeners = []Listener{good}
			test.change(&o)
			got := ""
			if err := o.Validate(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListenSaysWhatIsWrong(t *testing.T) {
	taken := start(t, testOptions(), &handler{serve: echo})
	address := taken.Listeners()[0].Address
	port := address[strings.LastIndex(address, ":")+1:]
	tests := map[string]struct{ address, want string }{
		"in use":      {address, "port " + port + " on 127.0.0.1 is in use"},
		"not ours":    {"192.0.2.1:0", "192.0.2.1 is not an address of this machine"},
		"not a host":  {"no-such-host.invalid:0", "host no-such-host.invalid is not known"},
		"second door": {address, "port " + port + " on 127.0.0.1 is in use"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			o.Listeners = append(o.Listeners, Listener{Name: "SECOND", Protocol: Plaintext, Address: test.address})
			s := New(o, &handler{serve: echo}, zap.NewNop(), nil)
			err := s.Listen()
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestListenersTellTheBoundPort(t *testing.T) {
	o := testOptions()
	o.Listeners = append(o.Listeners, Listener{
		Name: "EXTERNAL", Protocol: SASLPlaintext, Address: "127.0.0.1:0", Host: "broker.example.com", Port: 30092})
	r := start(t, o, &handler{serve: echo})
	got := r.Listeners()
	if strings.HasSuffix(got[0].Address, ":0") || got[0].Port == 0 {
		t.Errorf("got %+v, want the port that was bound", got[0])
	}
	if got[1].Host != "broker.example.com" || got[1].Port != 30092 {
		t.Errorf("got %+v, want the advertised host and port kept", got[1])
	}
}

func TestConnectionsLeaveDescriptors(t *testing.T) {
	for descriptors, want := range map[uint64]int{
		0: 8, 64: 16, 1024: 736, 20000: 14968, 1 << 63: 805306336,
	} {
		if got := connectionsOf(descriptors); got != want {
			t.Errorf("%d descriptors: got %d connections, want %d", descriptors, got, want)
		}
	}
}

// TestConnectionsFitIntoMemory: unless somebody says how many connections there may
// be, half of the memory is enough for them.
func TestConnectionsFitIntoMemory(t *testing.T) {
	plain := []Listener{{Protocol: Plaintext}, {Protocol: SASLPlaintext}}
	secret := append(plain, Listener{Protocol: SASLSSL})
	unsaid := DefaultOptions().MaxConnections
	for _, c := range []struct {
		listeners []Listener
		memory    int64
		said      int
		want      int
	}{
		{plain, 0, unsaid, unsaid},
		{plain, 224 << 20, unsaid, 14336},
		{secret, 224 << 20, unsaid, 3584},
		{secret, 1 << 20, unsaid, leastConnections},
		{plain, 1 << 60, unsaid, unsaid},
		{secret, 224 << 20, 100_000, 100_000},
		{plain, 224 << 20, 10, 10},
	} {
		o := Options{Listeners: c.listeners, Memory: c.memory, MaxConnections: c.said}
		if got := o.mostConnections(); got != c.want {
			t.Errorf("%d listeners, %d bytes, max.connections %d: got %d, want %d", len(c.listeners), c.memory, c.said, got, c.want)
		}
	}
	o := testOptions()
	o.Memory = 1
	if r := start(t, o, &handler{serve: echo}); r.maxConns != leastConnections {
		t.Errorf("with next to no memory there may be %d connections, want %d", r.maxConns, leastConnections)
	}
}

func TestProbeBindsNothing(t *testing.T) {
	r := start(t, testOptions(), &handler{serve: echo})
	taken := r.Listeners()
	if err := Probe(taken); err == nil || !strings.HasSuffix(err.Error(), "is in use") {
		t.Errorf("got %v, want the port in use", err)
	}
	r.end()
	for range 2 {
		if err := Probe(taken); err != nil {
			t.Error(err)
		}
	}
}

func TestRunAfterListenFailed(t *testing.T) {
	o := testOptions()
	o.Listeners = append(o.Listeners, Listener{Name: "SECOND", Protocol: Plaintext, Address: "192.0.2.1:0"})
	s := New(o, &handler{serve: echo}, zap.NewNop(), nil)
	if err := s.Listen(); err == nil {
		t.Fatal("bound an address of another machine")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(done); err != nil {
		t.Error(err)
	}
}

func TestPorchLeavesDescriptors(t *testing.T) {
	for descriptors, want := range map[uint64]int{0: 16, 256: 16, 1024: 64, 20000: 1250, 1 << 63: 4096} {
		if got := refusedOf(descriptors); got != want {
			t.Errorf("%d descriptors: got room for %d refused connections, want %d", descriptors, got, want)
		}
		if keep := int(min(descriptors, 1<<30)) - connectionsOf(descriptors); descriptors >= 256 && 2*refusedOf(descriptors) > keep {
			t.Errorf("%d descriptors: the porch takes more than half of the %d that connections leave", descriptors, keep)
		}
	}
}
