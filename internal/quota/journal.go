package quota

import (
	"context"
	"maps"
	"net/netip"

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
// kept in the journal. It is called once, before clients are served.
func (e *Enforcer) Restore(settings []Setting, j Journal) {
	now := e.clock.ticks(e.clock.start)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.journal = j
	for _, s := range settings {
		e.names += nameBytes(s.Entity)
		e.overrides[s.Entity] = maps.Clone(s.Limits)
		e.apply(s.Entity, now)
	}
}
