package server

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"time"
)

// Options are the limits of a server. None changes while it runs.
type Options struct {
	Listeners []Listener // listeners; at least one

	MaxConnections      int // max.connections; the default is what half of Memory has room for
	MaxConnectionsPerIP int // max.connections.per.ip
	Handshakes          int // TLS handshakes at a time, over all listeners

	IdleTimeout  time.Duration // connections.max.idle.ms; 0 is no limit
	LoginTimeout time.Duration // from accept until Session.Established, and for the handshake
	WriteTimeout time.Duration // connections.write.timeout.ms
	DrainTimeout time.Duration // shutdown.timeout

	MaxRequestBytes int   // socket.request.max.bytes; Session.Admit may be stricter
	MaxLoginBytes   int   // sasl.server.max.receive.size, until Session.Established
	RequestMemory   int64 // queued.max.request.bytes, for all frames in progress (pools)
	Memory          int64 // what the process may use, in bytes (memory.limit); 0: not known

	Outstanding int // answers of one connection that may wait for a commit

	Admitter Admitter // judges at accept; nil admits everybody
}

// DefaultOptions are Kafka's defaults where Kafka has the setting. The
// listeners are left to the caller.
func DefaultOptions() Options {
	return Options{
		MaxConnections:      math.MaxInt32,
		MaxConnectionsPerIP: math.MaxInt32,
		Handshakes:          512,
		IdleTimeout:         10 * time.Minute,
		LoginTimeout:        30 * time.Second,
		WriteTimeout:        30 * time.Second,
		DrainTimeout:        30 * time.Second,
		MaxRequestBytes:     100 << 20,
		MaxLoginBytes:       512 << 10,
		RequestMemory:       64 << 20,
		Outstanding:         5,
	}
}

// What a connection keeps, in bytes, rounded up: one with TLS that has sent requests
// of some records between what it holds at first and at the worst.
const (
	plainCost     = 8 << 10
	encryptedCost = 32 << 10
)

// leastConnections is how many there may be however little memory there is.
const leastConnections = 64

// bounded says whether somebody has said how many connections there may be.
func (o Options) bounded() bool { return o.MaxConnections != DefaultOptions().MaxConnections }

// mostConnections is how many there may be as far as memory goes.
func (o Options) mostConnections() int {
	if o.bounded() || o.Memory == 0 {
		return o.MaxConnections
	}
	cost := int64(plainCost)
	if o.encrypted() > 0 {
		cost = encryptedCost
	}
	return int(min(max(o.Memory/2/cost, leastConnections), int64(o.MaxConnections)))
}

// Validate reports every fault of the options, joined.
func (o Options) Validate() error {
	faults := o.validateListeners()
	for _, c := range []struct {
		name  string
		value int64
		least int64
	}{
		{"max.connections", int64(o.MaxConnections), 1},
		{"max.connections.per.ip", int64(o.MaxConnectionsPerIP), 1},
		// The acceptor of each listener sits on one while it waits.
		{"handshakes at a time", int64(o.Handshakes), int64(max(o.encrypted(), 1))},
		{"connections.max.idle.ms", o.IdleTimeout.Milliseconds(), 0},
		{"login timeout in ms", o.LoginTimeout.Milliseconds(), 1},
		{"connections.write.timeout.ms", o.WriteTimeout.Milliseconds(), 1},
		{"shutdown.timeout in ms", o.DrainTimeout.Milliseconds(), 0},
		{"socket.request.max.bytes", int64(o.MaxRequestBytes), 1},
		{"sasl.server.max.receive.size", int64(o.MaxLoginBytes), 1},
		{"queued.max.request.bytes", o.RequestMemory, 1 << 20},
		{"memory.limit", o.Memory, 0},
		{"outstanding answers", int64(o.Outstanding), 1},
	} {
		if c.value < c.least {
			faults = append(faults, fmt.Errorf("%s %d: must be at least %d", c.name, c.value, c.least))
		}
	}
	return errors.Join(faults...)
}

var protocols = []Protocol{Plaintext, SASLPlaintext, SSL, SASLSSL}

// encrypted is how many listeners have TLS.
func (o Options) encrypted() int {
	n := 0
	for _, l := range o.Listeners {
		if l.Protocol.TLS() {
			n++
		}
	}
	return n
}

func (o Options) validateListeners() []error {
	if len(o.Listeners) == 0 {
		return []error{errors.New("listeners: at least one is needed")}
	}
	var faults []error
	seen := map[string]bool{}
	for _, l := range o.Listeners {
		if l.Name == "" {
			faults = append(faults, fmt.Errorf("listeners: %q has no name", l.Address))
		}
		if seen[l.Name] {
			faults = append(faults, fmt.Errorf("listeners: the name %s is there twice", l.Name))
		}
		seen[l.Name] = true
		if !slices.Contains(protocols, l.Protocol) {
			faults = append(faults, fmt.Errorf("listeners: %s: protocol %q is not one of %v", l.Name, l.Protocol, protocols))
		}
		if l.Protocol.TLS() != (l.TLS != nil) {
			faults = append(faults, fmt.Errorf("listeners: %s: %s and its certificates do not go together", l.Name, l.Protocol))
		}
		if err := checkAddress(l.Address); err != nil {
			faults = append(faults, fmt.Errorf("listeners: %s: %w", l.Name, err))
		}
	}
	return faults
}

func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q is not host:port", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q of %q is not between 0 and 65535", port, address)
	}
	return nil
}
