package quota

import (
	"context"
	"net"
	"net/netip"
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
	model   Model
	options Options
	log     *zap.Logger
	clock   clock
	meters  [kinds]*meter
	gates   gates
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	warned  sync.Once    // that alterations do not last
	exempt  atomic.Int64 // nanoseconds of work that nobody is charged
	refused atomic.Int64 // connections, by a quota of their address

	_ [64]byte
	// generation counts the changes of who pays from which bucket. Every
	// charge reads it, so it has a cache line of its own.
	generation atomic.Uint64
	_          [64]byte

	altering sync.Mutex // one alteration at a time, until it is durable; before mu
	journal  Journal    // nil: nothing is kept. Guarded by altering

	mu         sync.RWMutex
	base       map[kafka.Entity]Limits
	addresses  map[kafka.Entity]netip.Addr // of the ip entities with overrides
	held       int                         // what all overrides count (room.go)
	overridden int                         // accounts with an override
	accounts   *accounts
	aliases    map[netip.Addr][]kafka.Entity // the ip entities that mean an address
	settings   [maxLevels]int                // accounts with limits, by level
	valued     [kinds]int                    // accounts with a limit of the kind
	series     slots
	swept      int // where the sweep goes on
	applied    int // entries of AlterClientQuotas
	rejected   int

	working atomic.Bool // valued[Request] > 0
}

// New makes an Enforcer without quotas.
func New(m Model, o Options, log *zap.Logger, reg prometheus.Registerer) *Enforcer {
	e := &Enforcer{
		model:     m,
		options:   o,
		log:       log.Named("quota"),
		clock:     clock{start: time.Now()},
		lookup:    net.DefaultResolver.LookupNetIP,
		base:      map[kafka.Entity]Limits{},
		addresses: map[kafka.Entity]netip.Addr{},
		accounts:  newAccounts(),
		aliases:   map[netip.Addr][]kafka.Entity{},
		series:    slots{free: o.MaxEntities},
	}
	for k := range e.meters {
		e.meters[k] = newMeter(Kind(k), e.clock)
	}
	e.gates.meter = newMeter(Connection, e.clock)
	if reg != nil {
		reg.MustRegister(collector{e})
	}
	return e
}

func (e *Enforcer) ticksOf(now time.Time) int64 { return e.clock.ticks(now) }

// Run forgets who is idle and samples rates for Status and the metrics, until
// ctx ends.
func (e *Enforcer) Run(ctx context.Context) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case now := <-second.C:
			at := e.ticksOf(now)
			e.sample(at, n%pauseSeconds == 0)
			e.sweep(at)
		}
	}
}
