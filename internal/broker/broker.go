package broker

import (
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/admin"
	"kaasd/internal/certificate"
	"kaasd/internal/credstore"
	"kaasd/internal/group"
	"kaasd/internal/handlers"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/server"
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// Broker is the rooms joined: made by New, living in Run.
type Broker struct {
	cfg     Config
	log     *zap.Logger
	reg     *prometheus.Registry
	started time.Time

	credentials  *credstore.Store
	certificates *certificate.Store // nil where no listener has TLS
	gate         *admin.Gate        // nil where the pages are open
	folder       vfs.FS             // what the data folder is on
	store        *segment.Store
	metadata     *metadata.Store
	groups       *group.Coordinator
	quotas       *quota.Enforcer
	handlers     *handlers.Handlers
	server       *server.Server
	admin        *admin.Server

	recovery atomic.Pointer[segment.Recovery] // how far the check of the logs is; nil: none
	opened   atomic.Bool                      // the data folder and what lives in it
	serving  atomic.Bool
	ready    chan struct{} // closed once clients are served
}

// New reads what the start stands on (the configuration, the credentials file)
// and finds out whether the ports are free; what is wrong is an error that
// names it. The admin side is bound then, so that it can tell of a recovery;
// the data folder is not touched and no client is served before Run.
func New(cfg Config, log *zap.Logger) (*Broker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b := &Broker{cfg: cfg, log: log, started: time.Now(), reg: prometheus.NewRegistry(), ready: make(chan struct{})}
	registerProcessMetrics(b.reg)
	admin.RegisterMetrics(b.reg, cfg.Build, b.serving.Load)
	b.quotas = b.newQuotas()
	if err := b.openCredentials(); err != nil {
		return nil, err
	}
	if err := b.openCertificates(); err != nil {
		return nil, err
	}
	if err := server.Probe(cfg.Listeners); err != nil {
		return nil, &BadSetting{"listeners", fmt.Errorf("listeners: %w", err)}
	}
	if err := b.openGate(); err != nil {
		return nil, err
	}
	b.admin = admin.New(admin.Options{Listen: cfg.HTTP.Listen, MaxConnections: cfg.HTTP.MaxConnections, Lifecycle: cfg.HTTP.Lifecycle, Pprof: cfg.HTTP.Pprof, Gate: b.gate}, b.pages(), log)
	if err := b.admin.Listen(); err != nil {
		return nil, &BadSetting{"http.listen", err}
	}
	return b, nil
}

func (b *Broker) openCredentials() error {
	store, err := credstore.Open(b.cfg.CredentialsFile, credstore.DefaultOptions(), b.log, b.reg)
	if err != nil {
		return &BadFile{err}
	}
	b.credentials = store
	return nil
}

// openGate reads what stands before the pages.
func (b *Broker) openGate() error {
	if b.cfg.HTTP.File == "" || b.cfg.HTTP.Listen == "" {
		return nil
	}
	gate, err := admin.OpenGate(b.cfg.HTTP.File, b.cfg.Network.FailedLoginsPerIP, b.log, b.reg)
	if err != nil {
		return &BadFile{err}
	}
	b.gate = gate
	return nil
}

// openCertificates reads what the listeners with TLS show, and gives it to them.
func (b *Broker) openCertificates() error {
	b.cfg.Listeners = slices.Clone(b.cfg.Listeners)
	for i := range b.cfg.Listeners {
		l := &b.cfg.Listeners[i]
		if !l.Protocol.TLS() {
			continue
		}
		if b.certificates == nil {
			o := certificate.DefaultOptions()
			o.Files, o.MinVersion = b.cfg.TLS.Files, tlsVersions[b.cfg.TLS.MinVersion]
			store, err := certificate.Open(o, b.log, b.reg)
			if err != nil {
				return &BadFile{err}
			}
			b.certificates = store
		}
		l.TLS = b.certificates.For(b.cfg.TLS.clientAuth(*l))
	}
	return nil
}

// BadFile is an input file that is wrong, so that there is nothing to start
// from.
type BadFile struct{ err error }

// Error is the fault, with the file's name and line.
func (e *BadFile) Error() string { return e.err.Error() }

// Unwrap is the fault.
func (e *BadFile) Unwrap() error { return e.err }

// BadSetting is a setting that fits, and of which nothing came: a port that is
// taken, a folder that cannot be written.
type BadSetting struct {
	Key string // listeners, http.listen, data.dir
	err error
}

// Error is the fault, with the value.
func (e *BadSetting) Error() string { return e.err.Error() }

// Unwrap is the fault.
func (e *BadSetting) Unwrap() error { return e.err }

// takeCredentials puts a new credentials file in force: quotas, and the end of
// the sessions of users it no longer holds.
func (b *Broker) takeCredentials(old, next *credstore.Snapshot) []zap.Field {
	base := make(map[string]quota.Limits, len(next.Users))
	for name, u := range next.Users {
		if len(u.Quotas) > 0 {
			base[name] = u.Quotas
		}
	}
	changed, hidden := b.quotas.SetBase(base)
	b.server.CloseSessions(b.handlers.Outcasts(old, next))
	return []zap.Field{zap.Int("quotas_in_force", len(base)), zap.Int("quotas_applied", changed), zap.Int("hidden_by_overrides", hidden)}
}

// Ready is closed once every listener accepts.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// Listeners are the listeners with the ports that were bound.
func (b *Broker) Listeners() []server.Listener { return b.server.Listeners() }

// HTTPAddr is where the admin side listens; nil when it is off.
func (b *Broker) HTTPAddr() net.Addr { return b.admin.Addr() }

// ClusterID is the id of the cluster that the data folder belongs to.
func (b *Broker) ClusterID() string { return b.store.ClusterID() }

// Fresh says whether the data folder was made by this start.
func (b *Broker) Fresh() bool { return b.store.Fresh() }
