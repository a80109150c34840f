package handlers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/auth"
	"kaasd/internal/credstore"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/server"
	"kaasd/internal/storage"
)

// Options are what requests are answered with.
type Options struct {
	NodeID    kafka.BrokerID
	ClusterID string
	// LogDir is the folder that holds the logs, as clients are told.
	LogDir string
	// Mechanisms are the SASL mechanisms offered, in order
	// (sasl.enabled.mechanisms).
	Mechanisms []string
	SASL       auth.Options
	// SASLListeners are the names of the listeners that ask for a log-in.
	SASLListeners []string
	// CertificateListeners are the names of those that know clients by their
	// certificates.
	CertificateListeners []string
	// CertificateNames make the principal of a client's certificate
	// (ssl.principal.mapping.rules).
	CertificateNames *auth.MappingRules
	// FailedLoginDelay holds back the answer to a failed log-in
	// (connection.failed.authentication.delay.ms).
	FailedLoginDelay time.Duration
	// FailedLoginsPerIP is how many log-ins from one address may fail in a minute;
	// 0: no limit (max.failed.logins.per.ip).
	FailedLoginsPerIP int
	// SessionLifetime is how long a SASL log-in lasts until the client must log
	// in again, on the same connection (connections.max.reauth.ms); 0: for ever.
	SessionLifetime time.Duration
	// MaxRequest is the largest frame, in bytes (socket.request.max.bytes).
	// Only Produce may use all of it.
	MaxRequest int
}

// DefaultOptions are Kafka's.
func DefaultOptions() Options {
	return Options{
		Mechanisms:        []string{auth.ScramSHA512},
		CertificateNames:  auth.DefaultMapping(),
		FailedLoginDelay:  100 * time.Millisecond,
		FailedLoginsPerIP: auth.AddressTries,
		MaxRequest:        100 << 20,
	}
}

// Logs is the store of the broker's logs.
type Logs interface {
	storage.Store
	// Epoch is the leader epoch of every log since this start; it is higher
	// than that of the start before.
	Epoch() int32
	// Disk is how large the disk below the logs is and how much of it is
	// free, in bytes.
	Disk() (total, free int64, err error)
}

// Collaborators are the rooms that the handlers speak with.
type Collaborators struct {
	Metadata   *metadata.Store
	Store      Logs
	Groups     *group.Coordinator
	Quotas     *quota.Enforcer
	Authorizer auth.Authorizer
	Secrets    auth.Secrets
	// Credentials is the credentials file's content as it is now.
	Credentials func() *credstore.Snapshot
	// LogLevel is that of the log; nil when it cannot change.
	LogLevel *zap.AtomicLevel
	// CloseSessions ends the connections whose session matches.
	CloseSessions func(match func(server.Session) bool)
}

// Handlers answers every request of a broker.
type Handlers struct {
	Options
	Collaborators
	logs        *logs
	sessions    *fetchSessions
	producerIDs *producerIDs
	tries       *auth.Tries
	denials     server.Repeats
	refusals    server.Repeats
	answering   server.Turns // of long answers
	fetching    server.Turns // of fetches of many partitions, which do not wait for those
	log         *zap.Logger
	audit       *zap.Logger
	metrics     *metrics
	routes      routes
	// crash ends the process with a panic that must not be survived.
	crash func(cause any)
}

var _ server.Handler = (*Handlers)(nil)

// New makes the handlers, which follow the metadata from then on: logs of
// topics are deleted and configured as topics are.
func New(o Options, with Collaborators, log *zap.Logger, reg prometheus.Registerer) *Handlers {
	h := &Handlers{Options: o, Collaborators: with, log: log.Named("handlers"), audit: log.Named("audit"), crash: crash}
	h.routes = index(h.table())
	h.metrics = newMetrics(reg, h.routes, o)
	h.logs = newLogs(with.Store, with.Metadata, h.log, reg)
	h.sessions, h.producerIDs, h.tries = newFetchSessions(), new(producerIDs), auth.NewTries(o.FailedLoginsPerIP)
	h.answering, h.fetching = server.NewTurns(), server.NewTurns()
	h.Metadata.Subscribe(h.logs.follow)
	return h
}

// crash panics where nobody recovers.
func crash(cause any) {
	go func() { panic(cause) }()
	select {}
}

// Connect begins the session of a connection, or refuses a client whose
// certificate is nobody's.
func (h *Handlers) Connect(c server.Conn) (server.Session, error) {
	s, err := newSession(h, c)
	if err != nil {
		return nil, err
	}
	return s, nil
}
