package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/admin"
	"kaasd/internal/auth"
	"kaasd/internal/credstore"
	"kaasd/internal/handlers"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/server"
	"kaasd/internal/storage"
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// Broker is the rooms joined: made by New, living in Run.
type Broker struct {
	cfg     Config
	log     *zap.Logger
	reg     *prometheus.Registry
	started time.Time

	credentials *credstore.Store
	store       *segment.Store
	metadata    *metadata.Store
	quotas      *quota.Enforcer
	handlers    *handlers.Handlers
	server      *server.Server
	admin       *admin.Server

	serving atomic.Bool
	ready   chan struct{} // closed once clients are served
}

// New opens everything a broker needs: the credentials, the data folder, the
// sockets. What cannot be had is an error that names it, and then nothing is
// left open. Nothing is served before Run.
func New(cfg Config, log *zap.Logger) (*Broker, error) {
	b := &Broker{cfg: cfg, log: log, started: time.Now(), reg: prometheus.NewRegistry(), ready: make(chan struct{})}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := b.open(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// open joins the rooms from the ground up.
func (b *Broker) open() error {
	registerProcessMetrics(b.reg)
	admin.RegisterMetrics(b.reg, b.cfg.Build, b.serving.Load)
	if err := b.openCredentials(); err != nil {
		return err
	}
	if err := b.probe(); err != nil {
		return err
	}
	if err := b.openStorage(); err != nil {
		return err
	}
	b.quotas = quota.New(quota.UserModel(), quota.Options{Idle: b.cfg.Quota.Idle, MaxEntities: b.cfg.Quota.MaxEntities}, b.log, b.reg)
	if err := b.openHandlers(); err != nil {
		return err
	}
	return b.openSockets()
}

// probe finds a taken port before the data folder is touched.
func (b *Broker) probe() error {
	if err := server.Probe(b.cfg.Listeners); err != nil {
		return fmt.Errorf("listeners: %w", err)
	}
	if b.cfg.HTTP.Listen == "" {
		return nil
	}
	if err := server.Probe([]server.Listener{{Address: b.cfg.HTTP.Listen}}); err != nil {
		return fmt.Errorf("http.listen: %w", err)
	}
	return nil
}

func (b *Broker) openCredentials() error {
	store, err := credstore.Open(b.cfg.CredentialsFile, credstore.DefaultOptions(), b.log, b.reg)
	if err != nil {
		return &BadFile{err}
	}
	b.credentials = store
	return nil
}

// BadFile is an input file that is wrong, so that there is nothing to start
// from.
type BadFile struct{ err error }

// Error is the fault, with the file's name and line.
func (e *BadFile) Error() string { return e.err.Error() }

// Unwrap is the fault.
func (e *BadFile) Unwrap() error { return e.err }

func (b *Broker) openStorage() error {
	o := segment.DefaultOptions()
	o.Dir, o.NodeID, o.ClusterID = b.cfg.DataDir, int32(b.cfg.NodeID), b.cfg.ClusterID
	if b.cfg.DataDir == InMemory {
		o.FS = vfs.Memory()
	}
	o.FlushInterval, o.FlushThreads, o.DiskReserve = b.cfg.Storage.FlushInterval, b.cfg.Storage.FlushThreads, b.cfg.Storage.DiskReserve
	o.StrictTopics = []string{metadata.LogPartition.Topic}
	store, err := segment.Open(o, b.log, b.reg)
	if err != nil {
		return err
	}
	b.store = store
	log, err := store.Open(metadata.LogPartition, metadata.LogID, metadata.LogConfig())
	if err != nil {
		return fmt.Errorf("open the metadata log: %w", err)
	}
	properties, err := metadata.ParseProperties(b.cfg.properties())
	if err != nil {
		return err
	}
	b.metadata, err = metadata.Open(context.Background(), log, metadata.Options{
		NodeID: b.cfg.NodeID, Properties: properties, Flush: b.cfg.Storage.Flush, FlushInterval: b.cfg.Storage.FlushInterval,
	}, b.log, b.reg)
	if err != nil {
		return &BadFile{err}
	}
	b.dropOrphans()
	b.reg.MustRegister(newLogSizes(b.sizes))
	return nil
}

// dropOrphans deletes logs of topics that the metadata does not know: their
// deletion was committed and the process ended before their files went.
func (b *Broker) dropOrphans() {
	image := b.metadata.Image()
	for _, p := range b.store.Partitions() {
		if p.TopicPartition == metadata.LogPartition {
			continue
		}
		if t, ok := image.TopicByID(p.ID); ok && t.Name == p.Topic {
			continue
		}
		b.log.Info("log of a deleted topic dropped", zap.Stringer("partition", p.TopicPartition))
		if err := b.store.Delete(p.TopicPartition, p.ID); err != nil {
			b.log.Warn("log of a deleted topic stays", zap.Stringer("partition", p.TopicPartition), zap.Error(err))
		}
	}
}

func (b *Broker) openHandlers() error {
	authorizer, err := b.authorizer()
	if err != nil {
		return err
	}
	o := handlers.DefaultOptions()
	o.NodeID, o.ClusterID, o.Mechanisms, o.MaxRequest = b.cfg.NodeID, b.store.ClusterID(), b.cfg.SASLMechanisms, b.cfg.Network.MaxRequest
	o.SASL.SaltKey = make([]byte, 32)
	if _, err := rand.Read(o.SASL.SaltKey); err != nil {
		return fmt.Errorf("make the key of salts: %w", err)
	}
	b.handlers = handlers.New(o, handlers.Collaborators{
		Metadata: b.metadata, Store: b.store, Quotas: b.quotas, Authorizer: authorizer,
		Secrets: b.credentials, Credentials: b.credentials.Snapshot,
	}, b.log, b.reg)
	return nil
}

func (b *Broker) authorizer() (auth.Authorizer, error) {
	if !b.cfg.Access.Enabled {
		return auth.Everyone{}, nil
	}
	return auth.NewSuperUsers(strings.Join(b.cfg.Access.SuperUsers, ";"), b.cfg.Access.AllowEveryoneIfNoACL)
}

func (b *Broker) openSockets() error {
	o := server.DefaultOptions()
	o.Listeners = b.cfg.Listeners
	n := b.cfg.Network
	o.MaxConnections, o.MaxConnectionsPerIP = n.MaxConnections, n.MaxConnectionsPerIP
	o.IdleTimeout, o.WriteTimeout = n.IdleTimeout, n.WriteTimeout
	// What is left of shutdown.timeout when connections had to be cut is
	// for the logs.
	o.DrainTimeout = b.cfg.ShutdownTimeout * 4 / 5
	o.MaxRequestBytes, o.RequestMemory = n.MaxRequest, n.RequestMemory
	b.server = server.New(o, b.handlers, b.log, b.reg)
	b.credentials.Subscribe(b.takeCredentials)
	if err := b.server.Listen(); err != nil {
		return fmt.Errorf("listeners: %w", err)
	}
	b.admin = admin.New(admin.Options{Listen: b.cfg.HTTP.Listen, Lifecycle: b.cfg.HTTP.Lifecycle, Pprof: b.cfg.HTTP.Pprof}, b.pages(), b.log)
	return b.admin.Listen()
}

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
	gone := make(map[string]bool)
	for _, name := range credstore.Expelled(old, next) {
		gone[name] = true
	}
	if len(gone) > 0 {
		b.server.CloseSessions(func(s server.Session) bool {
			user, ok := handlers.LoggedIn(s)
			return ok && gone[user]
		})
	}
	return []zap.Field{zap.Int("quotas_in_force", len(base)), zap.Int("quotas_applied", changed), zap.Int("hidden_by_overrides", hidden)}
}

// close lets go of what open took, when it could not take all of it.
func (b *Broker) close() {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if b.admin != nil {
		_ = b.admin.Run(done)
	}
	if b.server != nil {
		_ = b.server.Run(done)
	}
	if b.store != nil {
		_ = b.store.Run(done)
	}
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

// Reload reads the credentials file again.
func (b *Broker) Reload(t credstore.Trigger) credstore.Result { return b.credentials.Reload(t) }

var errStopTimeout = errors.New("shutdown.timeout passed before everything had stopped")

var _ storage.Store = (*segment.Store)(nil)
