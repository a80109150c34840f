package quota

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// Options are the settings of an Enforcer.
type Options struct {
	// Idle is quota.idle: after so long without a charge an owner without a
	// setting is forgotten. Fixed while running.
	Idle time.Duration
	// MaxEntities is metrics.max.entities: how many owners have metric series
	// of their own. Fixed while running.
	MaxEntities int
	// KafkaNames is metrics.kafka.names: also export rates under the names
	// that dashboards for Kafka know. Fixed while running.
	KafkaNames bool
}

// DefaultOptions are one hour, 500 owners, and Kafka's names too.
func DefaultOptions() Options { return Options{Idle: time.Hour, MaxEntities: 500, KafkaNames: true} }

// Enforcer knows the quotas in force and holds the buckets they are paid
// from. Everything but Run may be called at any time, from anywhere.
type Enforcer struct {
	model    Model
	options  Options
	log      *zap.Logger
	clock    clock
	meters   [kinds]*meter
	accounts *accounts

	_ [64]byte
	// generation counts the changes of who has buckets. Every charge reads
	// it, so it has a cache line of its own.
	generation atomic.Uint64
	_          [64]byte

	mu        sync.RWMutex // before those of accounts
	base      map[kafka.Entity]Limits
	overrides map[kafka.Entity]Limits
	names     int // bytes of the names of overrides
	series    slots
	journal   Journal
	applied   int // entries of AlterClientQuotas
	rejected  int
}

// New makes an Enforcer without quotas.
func New(m Model, o Options, log *zap.Logger, reg prometheus.Registerer) *Enforcer {
	e := &Enforcer{
		model:     m,
		options:   o,
		log:       log.Named("quota"),
		clock:     clock{start: time.Now()},
		accounts:  newAccounts(),
		base:      map[kafka.Entity]Limits{},
		overrides: map[kafka.Entity]Limits{},
		series:    slots{free: o.MaxEntities},
	}
	for k := range e.meters {
		e.meters[k] = newMeter(Kind(k), e.clock)
	}
	if reg != nil {
		reg.MustRegister(collector{e})
	}
	return e
}

func (e *Enforcer) ticksOf(now time.Time) int64 { return e.clock.ticks(now) }

// open makes the account of an owner. The caller holds mu.
func (e *Enforcer) open(owner kafka.Entity, now int64) *account {
	a := &account{owner: owner}
	for k := range a.buckets {
		a.buckets[k].open(e.meters[k], e.model.burst, now)
	}
	e.accounts.put(a)
	e.generation.Add(1)
	return a
}

// find gives the account of the first level that has one for the client: it
// has a setting there, or had one and is still accounted for.
func (e *Enforcer) find(user, clientID string) *account {
	for _, level := range e.model.levels {
		if a := e.accounts.get(level.stored(user, clientID)); a != nil {
			return a
		}
	}
	return nil
}

// Run forgets who is idle and samples rates for Status, until ctx ends.
func (e *Enforcer) Run(ctx context.Context) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case now := <-second.C:
			e.sample(e.ticksOf(now))
			e.sweep(&e.accounts.shards[n%shards], e.ticksOf(now))
		}
	}
}
