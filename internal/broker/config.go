package broker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/admin"
	"kaasd/internal/auth"
	"kaasd/internal/certificate"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
	"kaasd/internal/server"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// InMemory is the data folder of a broker that keeps nothing on disk.
const InMemory = ":memory:"

// Config is everything a broker is run with. Names in the comments are those
// of the settings; what is not marked live needs a restart.
type Config struct {
	NodeID    kafka.BrokerID // node.id
	ClusterID string         // cluster.id; empty: kept in the data folder, made once
	DataDir   string         // data.dir, or InMemory

	// Listeners are the addresses for clients (listeners,
	// advertised.listeners, listener.security.protocol.map).
	Listeners []server.Listener
	// SASLMechanisms are offered on listeners with SASL
	// (sasl.enabled.mechanisms).
	SASLMechanisms []string
	// SessionLifetime is how long a log-in lasts until the client must log in
	// again on its connection; 0: for ever (connections.max.reauth.ms).
	SessionLifetime time.Duration

	// CredentialsFile is the credentials file; empty: none. Its content is
	// live (credentials.file).
	CredentialsFile string

	TLS     TLS
	Access  Access
	HTTP    HTTP
	Storage Storage
	Network Network
	Quota   Quota

	// Properties are broker properties under Kafka's names, as given by
	// the operator (num.partitions, log.retention.ms, ...): they stand
	// below what is altered through the Kafka API and above the defaults.
	Properties map[string]string

	LogLevel string // log.level: debug, info, warn, error; live
	// Level is that of the log that the broker is given; nil when it cannot
	// change.
	Level *zap.AtomicLevel

	// ShutdownDelay is how long everything is still served, while
	// unready, after the broker is asked to stop (shutdown.delay).
	ShutdownDelay time.Duration
	// ShutdownTimeout is how long the stop may last from then on
	// (shutdown.timeout).
	ShutdownTimeout time.Duration

	Build admin.Build // what this kaasd calls itself

	MemoryLimit int64 // bytes that the process may use (memory.limit); 0: not known
}

// Access is who may do what.
type Access struct {
	Enabled              bool     // authorizer.class.name is set
	SuperUsers           []string // principals such as User:alice (super.users)
	AllowEveryoneIfNoACL bool     // allow.everyone.if.no.acl.found
}

// TLS is what listeners with TLS show their clients, and whom they trust.
type TLS struct {
	Files      certificate.Files // tls.cert.file, tls.key.file, tls.client.ca.file; their content is live
	MinVersion string            // tls.min.version: 1.2, 1.3
	// ClientAuth is asked on SSL listeners (ssl.client.auth).
	ClientAuth certificate.ClientAuth
	// ListenerClientAuth is asked on single listeners, by their names
	// (listener.name.NAME.ssl.client.auth).
	ListenerClientAuth map[string]certificate.ClientAuth
	// Names are how users' names come from client certificates
	// (ssl.principal.mapping.rules).
	Names *auth.MappingRules
}

// clientAuth is what a listener asks. As in Kafka the setting of all does not
// count where clients log in by SASL, whose names win (KIP-684).
func (t TLS) clientAuth(l server.Listener) certificate.ClientAuth {
	if auth, ok := t.ListenerClientAuth[l.Name]; ok {
		return auth
	}
	if l.Protocol.SASL() {
		return certificate.None
	}
	return t.ClientAuth
}

// AsksForCertificates says whether clients of some listener may show who they
// are by a certificate.
func (c Config) AsksForCertificates() bool {
	return slices.ContainsFunc(c.Listeners, func(l server.Listener) bool {
		return l.Protocol.TLS() && !l.Protocol.SASL() && c.TLS.clientAuth(l) != certificate.None
	})
}

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// HTTP is the admin side.
type HTTP struct {
	Listen         string // http.listen, host:port; empty: off
	File           string // http.config.file; empty: pages are open, in the clear; its content is live
	MaxConnections int    // http.max.connections
	Lifecycle      bool   // http.enable.lifecycle
	Pprof          bool   // http.enable.pprof
}

// Storage is how logs are kept.
type Storage struct {
	Flush         storage.Flush // log.flush
	FlushInterval time.Duration // log.flush.interval.ms
	FlushThreads  int           // log.flush.threads
	DiskReserve   int64         // bytes (log.disk.reserve)
	FS            vfs.FS        // what the data folder is on; nil: the machine's
}

// Network is what connections may take.
type Network struct {
	MaxConnections      int           // max.connections
	MaxConnectionsPerIP int           // max.connections.per.ip
	FailedLoginsPerIP   int           // in a minute; 0: no limit (max.failed.logins.per.ip)
	IdleTimeout         time.Duration // connections.max.idle.ms; 0: no limit
	WriteTimeout        time.Duration // connections.write.timeout.ms
	MaxRequest          int           // bytes (socket.request.max.bytes)
	RequestMemory       int64         // bytes (queued.max.request.bytes)
}

// Quota is how quotas are enforced.
type Quota struct {
	Model       string        // quota.model: user, kafka
	Windows     quota.Windows // quota.window.*, controller.quota.window.*
	Idle        time.Duration // quota.idle
	MaxEntities int           // metrics.max.entities
	KafkaNames  bool          // metrics.kafka.names
}

// The values of quota.model.
const (
	userModel  = "user"
	kafkaModel = "kafka"
)

// longestBurst is the most that the windows of a quota may last together.
const longestBurst = 24 * time.Hour

// Default is the configuration of a bare binary: localhost only.
func Default() Config {
	return Config{
		NodeID:          1,
		DataDir:         "./kaasd-data",
		Listeners:       []server.Listener{{Name: "PLAINTEXT", Protocol: server.Plaintext, Address: "localhost:9092", Host: "localhost"}},
		SASLMechanisms:  []string{"SCRAM-SHA-512"},
		TLS:             TLS{MinVersion: "1.2", ClientAuth: certificate.None, Names: auth.DefaultMapping()},
		HTTP:            HTTP{Listen: "localhost:9404", MaxConnections: admin.MaxConnections},
		Storage:         Storage{Flush: storage.FlushInterval, FlushInterval: time.Second, FlushThreads: 16, DiskReserve: 256 << 20},
		Network:         defaultNetwork(),
		Quota:           defaultQuota(),
		Properties:      map[string]string{},
		LogLevel:        "info",
		ShutdownTimeout: 30 * time.Second,
	}
}

func defaultQuota() Quota {
	o := quota.DefaultOptions()
	return Quota{Model: userModel, Windows: quota.DefaultWindows(), Idle: o.Idle, MaxEntities: o.MaxEntities, KafkaNames: o.KafkaNames}
}

func defaultNetwork() Network {
	const unlimited = 1<<31 - 1
	return Network{
		MaxConnections:      unlimited,
		MaxConnectionsPerIP: unlimited,
		FailedLoginsPerIP:   auth.AddressTries,
		IdleTimeout:         10 * time.Minute,
		WriteTimeout:        30 * time.Second,
		MaxRequest:          100 << 20,
		RequestMemory:       64 << 20,
	}
}

// Validate reports everything that is wrong, not the first thing.
func (c Config) Validate() error {
	var wrong []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	check(c.NodeID >= 0, "node.id: %d is below 0", c.NodeID)
	check(c.DataDir != "", "data.dir: a folder is needed (%s keeps everything in memory)", InMemory)
	check(c.Storage.FlushInterval > 0, "log.flush.interval.ms: %d is not above zero", c.Storage.FlushInterval.Milliseconds())
	check(c.Storage.FlushThreads > 0, "log.flush.threads: %d is not above zero", c.Storage.FlushThreads)
	check(c.Storage.DiskReserve >= 0, "log.disk.reserve: %d is below 0", c.Storage.DiskReserve)
	check(c.HTTP.MaxConnections > 0, "http.max.connections: %d is not above zero", c.HTTP.MaxConnections)
	check(c.MemoryLimit >= 0, "memory.limit: %d is below 0", c.MemoryLimit)
	check(c.SessionLifetime >= 0, "connections.max.reauth.ms: %v is below 0", c.SessionLifetime)
	check(c.ShutdownDelay >= 0, "shutdown.delay: %v is below 0", c.ShutdownDelay)
	check(c.ShutdownTimeout > 0, "shutdown.timeout: %v is not above zero", c.ShutdownTimeout)
	wrong = append(wrong, c.Quota.check()...)
	wrong = append(wrong, c.checkListeners()...)
	wrong = append(wrong, c.checkTLS()...)
	wrong = append(wrong, c.Network.check()...)
	return errors.Join(append(wrong, c.HTTP.check())...)
}

// check asks for host:port, or nothing.
func (h HTTP) check() error {
	if h.Listen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(h.Listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("http.listen: %q is not host:port with a port of 0 to 65535", h.Listen)
	}
	return nil
}

var mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}

func (c Config) checkListeners() []error {
	var wrong []error
	if len(c.Listeners) == 0 {
		wrong = append(wrong, errors.New("listeners: at least one is needed"))
	}
	for _, m := range c.SASLMechanisms {
		if !slices.Contains(mechanisms, m) {
			wrong = append(wrong, fmt.Errorf("sasl.enabled.mechanisms: %q is not one of %s", m, strings.Join(mechanisms, ", ")))
		}
	}
	sasl := false
	names, addresses := map[string]bool{}, map[string]bool{}
	for _, l := range c.Listeners {
		if names[l.Name] {
			wrong = append(wrong, fmt.Errorf("listeners: name %s stands twice", l.Name))
		}
		if addresses[l.Address] && !endsWithZeroPort(l.Address) {
			wrong = append(wrong, fmt.Errorf("listeners: address %s stands twice", l.Address))
		}
		names[l.Name], addresses[l.Address] = true, true
		sasl = sasl || l.Protocol.SASL()
	}
	if sasl && len(c.SASLMechanisms) == 0 {
		wrong = append(wrong, errors.New("sasl.enabled.mechanisms: a listener with SASL needs at least one"))
	}
	return wrong
}

// checkTLS judges the settings of TLS, where a listener has it.
func (c Config) checkTLS() []error {
	var wrong []error
	var encrypted []server.Listener
	for _, l := range c.Listeners {
		if l.Protocol.TLS() {
			encrypted = append(encrypted, l)
		}
	}
	if _, ok := tlsVersions[c.TLS.MinVersion]; !ok {
		wrong = append(wrong, fmt.Errorf("tls.min.version: %q is not one of 1.2, 1.3", c.TLS.MinVersion))
	}
	if len(encrypted) == 0 {
		return wrong
	}
	if err := c.TLS.Files.Validate(); err != nil {
		wrong = append(wrong, err)
	}
	for _, l := range encrypted {
		if auth := c.TLS.clientAuth(l); auth != certificate.None && c.TLS.Files.ClientCA == "" {
			wrong = append(wrong, fmt.Errorf("tls.client.ca.file: listener %s has ssl.client.auth=%s and needs the authorities of the client certificates", l.Name, auth))
		}
	}
	return wrong
}

func endsWithZeroPort(address string) bool {
	return len(address) > 1 && address[len(address)-2:] == ":0"
}

func (q Quota) check() []error {
	var wrong []error
	if q.Model != userModel && q.Model != kafkaModel {
		wrong = append(wrong, fmt.Errorf("quota.model: %q is not one of %s, %s", q.Model, userModel, kafkaModel))
	}
	for _, w := range []struct {
		prefix string
		num    int
		size   time.Duration
	}{{"quota.window", q.Windows.Num, q.Windows.Size}, {"controller.quota.window", q.Windows.MutationNum, q.Windows.MutationSize}} {
		switch {
		case w.num < 1:
			wrong = append(wrong, fmt.Errorf("%s.num: %d is below 1", w.prefix, w.num))
		case w.size < time.Second:
			wrong = append(wrong, fmt.Errorf("%s.size.seconds: %v is below one second", w.prefix, w.size))
		case w.size > longestBurst/time.Duration(w.num):
			wrong = append(wrong, fmt.Errorf("%s.num: %d windows of %v are more than %v", w.prefix, w.num, w.size, longestBurst))
		}
	}
	if q.Idle <= 0 {
		wrong = append(wrong, fmt.Errorf("quota.idle: %v is not above zero", q.Idle))
	}
	if q.MaxEntities < 0 {
		wrong = append(wrong, fmt.Errorf("metrics.max.entities: %d is below 0", q.MaxEntities))
	}
	return wrong
}

func (n Network) check() []error {
	var wrong []error
	positive := func(name string, v int64) {
		if v <= 0 {
			wrong = append(wrong, fmt.Errorf("%s: %d is not above zero", name, v))
		}
	}
	positive("max.connections", int64(n.MaxConnections))
	positive("max.connections.per.ip", int64(n.MaxConnectionsPerIP))
	if n.FailedLoginsPerIP < 0 {
		wrong = append(wrong, fmt.Errorf("max.failed.logins.per.ip: %d is below 0", n.FailedLoginsPerIP))
	}
	positive("connections.write.timeout.ms", n.WriteTimeout.Milliseconds())
	positive("socket.request.max.bytes", int64(n.MaxRequest))
	positive("queued.max.request.bytes", n.RequestMemory)
	return wrong
}
