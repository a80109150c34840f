package server

import (
	"net"
	"strconv"
)

// Listener is one address the server accepts on.
type Listener struct {
	Name     string // as in listeners: PLAINTEXT, INTERNAL, ...
	Protocol Protocol
	Address  string // host:port to bind; port 0 takes a free one
	// Host and Port are what clients of this listener are told to come
	// back to; a Port of 0 means the port that was bound.
	Host string
	Port int
}

// Advertised is host:port as clients are told.
func (l Listener) Advertised() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// Protocol is a security protocol of Kafka.
type Protocol string

// The protocols.
const (
	Plaintext     Protocol = "PLAINTEXT"
	SASLPlaintext Protocol = "SASL_PLAINTEXT"
)

// SASL says whether clients of the protocol must log in.
func (p Protocol) SASL() bool { return p == SASLPlaintext }
