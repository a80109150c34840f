package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/handlers"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/server"
)

// newQuotas makes the enforcer of the model that is set.
func (b *Broker) newQuotas() *quota.Enforcer {
	q := b.cfg.Quota
	model := quota.UserModel()
	if q.Model == kafkaModel {
		model = quota.KafkaModel(q.Windows)
	}
	return quota.New(model, quota.Options{Idle: q.Idle, MaxEntities: q.MaxEntities, KafkaNames: q.KafkaNames}, b.log, b.reg)
}

// openQuotas joins the enforcer to the metadata: what was altered before is in
// force again, what is altered from now on is kept. The user model leaves what
// it finds as it is.
func (b *Broker) openQuotas() {
	image := b.metadata.Image()
	if b.cfg.Quota.Model == kafkaModel {
		b.quotas.Restore(settingsOf(image), journal{b.metadata})
	} else if n := image.QuotaCount(); n > 0 {
		b.log.Warn("quotas of the data folder are kept and not in force (quota.model=kafka brings them back)", zap.Int("entities", n))
	}
	b.setConnectionRates(image)
	b.metadata.Subscribe(func(old, next *metadata.Image) {
		if !old.SameConnectionRates(next) {
			b.setConnectionRates(next)
		}
	})
}

// settingsOf are the quotas of the metadata in the words of the enforcer.
func settingsOf(image *metadata.Image) []quota.Setting {
	settings := make([]quota.Setting, 0, image.QuotaCount())
	for q := range image.Quotas() {
		settings = append(settings, quota.Setting{Entity: q.Entity, Limits: q.Values, Address: q.Address})
	}
	return settings
}

// journal keeps quotas in the metadata log.
type journal struct{ metadata *metadata.Store }

var _ quota.Journal = journal{}

// Keep commits the settings as one change of the metadata.
func (j journal) Keep(ctx context.Context, settings []quota.Setting) error {
	defer handlers.Committing(ctx)()
	changes := make([]metadata.Change, len(settings))
	for i, s := range settings {
		changes[i] = metadata.NewQuotaSet(s.Entity, s.Limits, s.Address)
	}
	_, err := j.metadata.Commit(ctx, changes...)
	var told *kafka.Error
	if err != nil && !errors.As(err, &told) {
		return kafka.Hide(kafka.KafkaStorageError, fmt.Errorf("keep quotas: %w", err)) // the request was given up
	}
	return err
}

func (b *Broker) setConnectionRates(image *metadata.Image) {
	listeners := make(map[string]float64, len(image.Broker.ConnectionRates))
	for name, rate := range image.Broker.ConnectionRates {
		listeners[name] = float64(rate)
	}
	b.quotas.SetConnectionRates(float64(image.Broker.ConnectionRate), listeners)
}

// admitter asks the enforcer about new connections.
type admitter struct{ quotas *quota.Enforcer }

var _ server.Admitter = admitter{}

var errConnectionRate = errors.New("its address opens more connections than connection_creation_rate lets it")

// Admit judges a connection by the address of its peer.
func (a admitter) Admit(listener string, remote net.Addr, now time.Time) server.Admission {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return server.Admission{}
	}
	judged := a.quotas.Admit(listener, tcp.AddrPort().Addr(), now)
	if judged.Refused {
		return server.Admission{Wait: judged.Wait, Refuse: errConnectionRate}
	}
	return server.Admission{Wait: judged.Wait}
}
