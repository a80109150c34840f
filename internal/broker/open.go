package broker

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"kaasd/internal/auth"
	"kaasd/internal/certificate"
	"kaasd/internal/handlers"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/server"
	"kaasd/internal/storage"
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// open takes the data folder, recovers it, and joins the rooms that stand on it.
func (b *Broker) open() error {
	if err := b.openStorage(); err != nil {
		return err
	}
	if err := b.openHandlers(); err != nil {
		return err
	}
	if err := b.openSockets(); err != nil {
		return err
	}
	b.recovery.Store(nil)
	b.opened.Store(true)
	return nil
}

// close lets go of what open took, when it could not take all of it.
func (b *Broker) close() {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if b.server != nil {
		_ = b.server.Run(done)
	}
	if b.store != nil {
		_ = b.store.Run(done)
	}
}

func (b *Broker) openStorage() error {
	o := segment.DefaultOptions()
	o.Dir, o.NodeID, o.ClusterID = b.cfg.DataDir, int32(b.cfg.NodeID), b.cfg.ClusterID
	switch {
	case b.cfg.Storage.FS != nil:
		o.FS = b.cfg.Storage.FS
	case b.cfg.DataDir == InMemory:
		o.FS = vfs.Memory()
	}
	b.folder = o.FS
	o.FlushInterval, o.FlushThreads, o.DiskReserve = b.cfg.Storage.FlushInterval, b.cfg.Storage.FlushThreads, b.cfg.Storage.DiskReserve
	o.Memory = b.cfg.MemoryLimit
	o.StrictTopics = []string{metadata.LogPartition.Topic}
	o.Recovering = func(r segment.Recovery) { b.recovery.Store(&r) }
	store, err := segment.Open(o, b.log, b.reg)
	if err != nil {
		return &BadSetting{"data.dir", err}
	}
	b.store = store
	log, err := store.Open(metadata.LogPartition, metadata.LogID, metadata.LogConfig())
	if err != nil {
		return fmt.Errorf("open the metadata log: %w", err)
	}
	if err := b.checkMetadata(log); err != nil {
		return &BadFile{err}
	}
	names := b.cfg.listenerNames()
	properties, err := metadata.ParseProperties(b.cfg.properties(), names)
	if err != nil {
		return err
	}
	b.metadata, err = metadata.Open(context.Background(), log, metadata.Options{
		NodeID: b.cfg.NodeID, Listeners: names, Properties: properties, Flush: b.cfg.Storage.Flush, FlushInterval: b.cfg.Storage.FlushInterval,
	}, b.log, b.reg)
	if err != nil {
		return &BadFile{err}
	}
	b.openQuotas()
	b.settleLogs()
	if err := b.openGroups(); err != nil {
		return err
	}
	b.reg.MustRegister(newLogSizes(b.sizes))
	return nil
}

// checkMetadata refuses a folder whose metadata has vanished while the logs of
// its topics are there: taken for deleted, they would be lost.
func (b *Broker) checkMetadata(log storage.Log) error {
	if o := log.Offsets(); o.End > o.Start {
		return nil
	}
	for _, p := range b.store.Partitions() {
		if !p.IsOwn() {
			return fmt.Errorf("data folder %s: %s is empty, but there are logs of topics, such as %s (put it back from a copy, or start on another folder)",
				b.cfg.DataDir, metadata.LogPartition, p.TopicPartition)
		}
	}
	return nil
}

// settleLogs makes the folder agree with the metadata. Logs of topics that the
// metadata does not know are deleted: the deletion was committed, and the
// process ended before their files went. Those it knows are opened, which reads
// nothing, so that the offsets of a folder that a power cut took are kept. A
// folder that has lost its topic id belongs to the topic of its name.
func (b *Broker) settleLogs() {
	image := b.metadata.Image()
	for _, p := range b.store.Partitions() {
		if p.IsOwn() {
			continue
		}
		if t, ok := image.Topic(p.Topic); ok && (t.ID == p.ID || p.ID.IsZero()) {
			continue
		}
		b.log.Info("log of a deleted topic dropped", zap.Stringer("partition", p.TopicPartition))
		if err := b.store.Delete(p.TopicPartition, p.ID); err != nil {
			b.log.Warn("log of a deleted topic stays", zap.Stringer("partition", p.TopicPartition), zap.Error(err))
		}
	}
	for _, t := range image.Topics() {
		for n := range t.Partitions {
			tp := kafka.TopicPartition{Topic: t.Name, Partition: n}
			if _, err := b.store.Open(tp, t.ID, t.Settings.Log); err != nil {
				b.log.Error("log out of service", zap.Stringer("partition", tp), zap.Error(err))
			}
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
	o.LogDir, o.CertificateNames, o.SessionLifetime = b.logDir(), b.cfg.TLS.Names, b.cfg.SessionLifetime
	o.FailedLoginsPerIP = b.cfg.Network.FailedLoginsPerIP
	for _, l := range b.cfg.Listeners {
		switch {
		case l.Protocol.SASL():
			o.SASLListeners = append(o.SASLListeners, l.Name)
		case l.Protocol.TLS() && b.cfg.TLS.clientAuth(l) != certificate.None:
			o.CertificateListeners = append(o.CertificateListeners, l.Name)
		}
	}
	if o.SASL.SaltKey, err = saltKey(b.folder, b.cfg.DataDir); err != nil {
		return err
	}
	who := &secrets{metadata: b.metadata, file: b.credentials}
	o.SASL.Looks = who.Looks
	b.handlers = handlers.New(o, handlers.Collaborators{
		Metadata: b.metadata, Store: b.store, Groups: b.groups, Quotas: b.quotas, Authorizer: authorizer,
		Secrets: who, Credentials: b.credentials.Snapshot, LogLevel: b.cfg.Level,
		CloseSessions: func(match func(server.Session) bool) { b.server.CloseSessions(match) },
	}, b.log, b.reg)
	return nil
}

// logDir is the data folder by its whole path.
func (b *Broker) logDir() string {
	if b.cfg.DataDir == InMemory {
		return InMemory
	}
	if whole, err := filepath.Abs(b.cfg.DataDir); err == nil {
		return whole
	}
	return b.cfg.DataDir
}

// authorizer is who may do what. With one, it follows the ACLs of the metadata.
func (b *Broker) authorizer() (auth.Authorizer, error) {
	if !b.cfg.Access.Enabled {
		return auth.Everyone{}, nil
	}
	a, err := auth.NewStandard(strings.Join(b.cfg.Access.SuperUsers, ";"), b.cfg.Access.AllowEveryoneIfNoACL)
	if err != nil {
		return nil, err
	}
	a.Use(auth.NewIndex(b.metadata.Image().ACLs()))
	b.metadata.Subscribe(func(old, next *metadata.Image) {
		if !old.SameACLs(next) {
			a.Use(auth.NewIndex(next.ACLs()))
		}
	})
	return a, nil
}

func (b *Broker) openSockets() error {
	o := server.DefaultOptions()
	o.Listeners, o.Admitter = b.cfg.Listeners, admitter{b.quotas}
	n := b.cfg.Network
	o.MaxConnections, o.MaxConnectionsPerIP = n.MaxConnections, n.MaxConnectionsPerIP
	o.IdleTimeout, o.WriteTimeout = n.IdleTimeout, n.WriteTimeout
	// What is left of shutdown.timeout when connections had to be cut is
	// for the logs.
	o.DrainTimeout = b.cfg.ShutdownTimeout * 4 / 5
	o.MaxRequestBytes, o.RequestMemory, o.Memory = n.MaxRequest, n.RequestMemory, b.cfg.MemoryLimit
	b.server = server.New(o, b.handlers, b.log, b.reg)
	b.credentials.Subscribe(b.takeCredentials)
	if err := b.server.Listen(); err != nil {
		return &BadSetting{"listeners", fmt.Errorf("listeners: %w", err)}
	}
	return nil
}
