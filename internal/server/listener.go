package server

import (
	"crypto/tls"
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
	// Pinned says that Host is what the operator wants clients to be told. Else
	// a client of TLS that named a server which the certificate is for
	// (server name indication, RFC 6066 section 3) is told that name.
	Pinned bool
	// TLS is what handshakes are made with; nil where the protocol has none.
	TLS TLSSource
}

// TLSSource gives the configurations of TLS handshakes.
type TLSSource interface {
	// Config is the configuration for the next handshake: another one once the
	// certificates have changed, the same one as long as they have not, so that
	// sessions can be resumed. Its certificates have their Leaf. Nobody may change it.
	Config() *tls.Config
}

// Advertised is host:port as clients are told.
func (l Listener) Advertised() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// Protocol is a security protocol of Kafka.
type Protocol string

// The protocols.
const (
	Plaintext     Protocol = "PLAINTEXT"
	SASLPlaintext Protocol = "SASL_PLAINTEXT"
	SSL           Protocol = "SSL"
	SASLSSL       Protocol = "SASL_SSL"
)

// SASL says whether clients of the protocol must log in.
func (p Protocol) SASL() bool { return p == SASLPlaintext || p == SASLSSL }

// TLS says whether connections of the protocol begin with a TLS handshake.
func (p Protocol) TLS() bool { return p == SSL || p == SASLSSL }
