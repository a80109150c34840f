package quota

import (
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

const (
	sourceBase     = "base"
	sourceOverride = "override"
)

// effective is what is in force for an entity: overrides before the base. The
// caller holds mu and does not write into the answer.
func (e *Enforcer) effective(entity kafka.Entity) Limits {
	return e.model.combine(e.override(entity).limits(), e.base[entity])
}

// override is what the API has set for an entity. The caller holds mu.
func (e *Enforcer) override(entity kafka.Entity) packed {
	if a := e.accounts.get(entity); a != nil {
		return a.override
	}
	return nil
}

// value is that of one key in effective.
func (e *Enforcer) value(entity kafka.Entity, k *key) (float64, bool) {
	if override := e.override(entity); len(override) > 0 {
		if v, there := override.get(k.name); there || e.model.whole {
			return v, there
		}
	}
	v, there := e.base[entity][k.name]
	return v, there
}

// combine puts the override of an entity before its base: as a whole, so that a
// key that the one lacks is not taken from the other, or key by key.
func (m *Model) combine(override, base Limits) Limits {
	switch {
	case len(override) == 0:
		return base
	case m.whole || len(base) == 0:
		return override
	}
	all := maps.Clone(base)
	maps.Copy(all, override)
	return all
}

// source says where the value in force of a key comes from.
func (e *Enforcer) source(entity kafka.Entity, k *key) string {
	override := e.override(entity)
	if _, there := override.get(k.name); there || e.model.whole && len(override) > 0 {
		return sourceOverride
	}
	return sourceBase
}

// hidden is the value of the file that an override stands before.
func (e *Enforcer) hidden(entity kafka.Entity, k *key) (float64, bool) {
	if e.source(entity, k) != sourceOverride {
		return 0, false
	}
	v, ok := e.base[entity][k.name]
	return v, ok
}

// SetBase puts the quotas of the credentials file in force, all at once: live
// buckets are at their new rate when it returns. It says how many users'
// entries differ from the last ones and how many an override hides something
// of.
func (e *Enforcer) SetBase(users map[string]Limits) (changed, hidden int) {
	now := e.ticksOf(time.Now())
	next := e.readBase(users)
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.base
	e.base = next
	var differ []kafka.Entity
	for entity, limits := range next {
		if e.hides(entity) {
			hidden++
		}
		if !maps.Equal(limits, last[entity]) {
			differ = append(differ, entity)
		}
	}
	for entity := range last {
		if _, kept := next[entity]; !kept {
			differ = append(differ, entity)
		}
	}
	e.apply(differ, now)
	return len(differ), hidden
}

// hides says whether an override keeps a value of the file from applying.
func (e *Enforcer) hides(entity kafka.Entity) bool {
	return slices.ContainsFunc(e.model.keys, func(k key) bool {
		_, hidden := e.hidden(entity, &k)
		return hidden
	})
}

// readBase keeps the values that can be quotas; zero is none.
func (e *Enforcer) readBase(users map[string]Limits) map[kafka.Entity]Limits {
	base := make(map[kafka.Entity]Limits, len(users))
	for user, values := range users {
		limits := Limits{}
		for _, name := range values.keys() {
			k, known := e.model.key(name)
			if !known || k.ofIP || values[name] == 0 {
				continue
			}
			if err := k.check(values[name]); err != nil {
				e.log.Warn("base quota ignored", zap.String("principal", user), zap.String("error", err.Message))
				continue
			}
			limits[name] = values[name]
		}
		if len(limits) > 0 {
			base[kafka.UserEntity(user)] = limits
		}
	}
	return base
}

// apply brings accounts and buckets to what is in force when the settings of
// some entities have changed. The caller holds mu.
func (e *Enforcer) apply(changed []kafka.Entity, now int64) {
	if len(changed) == 0 {
		return
	}
	for _, entity := range changed {
		e.install(entity)
	}
	scope := e.model.scopeOf(changed)
	e.rejudge(scope, now)
	for _, entity := range changed {
		e.tidy(entity)
	}
	e.working.Store(e.valued[Request] > 0)
	e.generation.Add(1)
	for _, m := range e.meters {
		m.mutes.wake(&scope)
	}
}

// install notes in the entity's account what its settings give.
func (e *Enforcer) install(entity kafka.Entity) {
	limits := e.effective(entity)
	a := e.accounts.get(entity)
	if a == nil {
		if len(limits) == 0 {
			return
		}
		a = e.accounts.open(entity, e.model.levelOf(entity))
	}
	e.count(a, -1)
	clear(a.limits[:])
	e.model.enforced(func(k *key) {
		if v, ok := limits[k.name]; ok && k.ofIP == entity.IP.Present {
			a.limits[k.kind] = k.rate(v)
		}
	})
	a.series.named = len(limits) > 0
	e.count(a, +1)
}

// count keeps the sums over all accounts, before and after one changes.
func (e *Enforcer) count(a *account, by int) {
	if a.series.named {
		e.accounts.named += by
		e.settings[a.level] += by
	}
	for k, rate := range a.limits {
		if rate > 0 {
			e.valued[k] += by
		}
	}
}

// tidy forgets an account that nothing is left of.
func (e *Enforcer) tidy(entity kafka.Entity) {
	a := e.accounts.get(entity)
	if a == nil {
		return
	}
	e.series.settle(a)
	if !a.series.named && a.buckets == ([kinds]*bucket{}) {
		e.forget(a)
	}
}
