package quota

import (
	"context"
	"net/netip"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// Setting is all that the API has set for one entity, as it is kept.
type Setting struct {
	Entity kafka.Entity
	Limits Limits // empty: the setting is removed
	// Address is what the name of an ip entity meant when it was set.
	Address netip.Addr
}

// Journal keeps settings over a restart. Keep returns when they are durable,
// all or none of them; the error is a *kafka.Error.
type Journal interface {
	Keep(ctx context.Context, settings []Setting) error
}

// Restore puts the settings of an earlier run in force and has those to come
// kept in the journal. It is called once, before clients are served. What
// an earlier run has let in is put in force, however much it is.
func (e *Enforcer) Restore(settings []Setting, j Journal) {
	e.altering.Lock()
	defer e.altering.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.journal = j
	changed := make([]kafka.Entity, 0, len(settings))
	for _, s := range settings {
		if e.model.levelOf(s.Entity) == noLevel {
			e.log.Warn("quota ignored: the model has no such entities", zap.Stringer("entity", s.Entity))
			continue
		}
		e.put(s)
		changed = append(changed, s.Entity)
	}
	e.apply(changed, e.clock.ticks(e.clock.start))
}

// put makes a setting the override of its entity. The caller holds mu and
// applies it.
func (e *Enforcer) put(s Setting) {
	a := e.accounts.get(s.Entity)
	if a == nil {
		a = e.accounts.open(s.Entity, e.model.levelOf(s.Entity))
	}
	e.countOverride(a, -1)
	a.override = pack(s.Limits)
	e.countOverride(a, +1)
	if len(s.Limits) == 0 {
		s.Address = netip.Addr{}
	}
	e.alias(s.Entity, s.Address)
}

// countOverride keeps the sums over all overrides, before and after one changes.
func (e *Enforcer) countOverride(a *account, by int) {
	if len(a.override) > 0 {
		e.overridden += by
		e.held += by * weigh(a.owner, len(a.override))
	}
}
