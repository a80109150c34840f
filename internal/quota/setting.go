package quota

import (
	"maps"
	"strings"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
)

// effective is what is in force for an entity: the override, else the base.
// The one counts as a whole: a key that it lacks is not taken from the other.
// The caller holds mu and does not write into the answer.
func (e *Enforcer) effective(entity kafka.Entity) Limits {
	if limits, ok := e.overrides[entity]; ok {
		return limits
	}
	return e.base[entity]
}

// source says where the limits in force come from.
func (e *Enforcer) source(entity kafka.Entity) string {
	if _, ok := e.overrides[entity]; ok {
		return sourceOverride
	}
	return sourceBase
}

const (
	sourceBase     = "base"
	sourceOverride = "override"
)

// SetBase puts the quotas of the credentials file in force, all at once: live
// buckets are at their new rate when it returns. It says how many users'
// entries differ from the last ones and how many are hidden by an override.
func (e *Enforcer) SetBase(users map[string]Limits) (changed, hidden int) {
	now := e.ticksOf(time.Now())
	next := e.readBase(users)
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.base
	e.base = next
	for entity, limits := range next {
		if _, ok := e.overrides[entity]; ok {
			hidden++
		}
		if !maps.Equal(limits, last[entity]) {
			changed++
			e.apply(entity, now)
		}
	}
	for entity := range last {
		if _, kept := next[entity]; !kept {
			changed++
			e.apply(entity, now)
		}
	}
	return changed, hidden
}

// readBase keeps the values that can be quotas; zero is none.
func (e *Enforcer) readBase(users map[string]Limits) map[kafka.Entity]Limits {
	base := make(map[kafka.Entity]Limits, len(users))
	for user, values := range users {
		limits := Limits{}
		for _, name := range values.keys() {
			k, known := e.model.key(name)
			if !known || values[name] == 0 {
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

// apply brings the buckets of an entity to what is in force. The caller holds
// mu.
func (e *Enforcer) apply(entity kafka.Entity, now int64) {
	limits := e.effective(entity)
	a := e.accounts.get(entity)
	if a == nil {
		if len(limits) == 0 {
			return
		}
		a = e.open(entity, now)
	}
	for i := range e.model.keys {
		k := &e.model.keys[i]
		if !k.enforced {
			continue
		}
		rate, ok := limits[k.name]
		if !ok {
			rate = unlimited
		}
		a.buckets[k.kind].setLimit(rate, e.model.burst, now)
	}
	e.series.settle(a, len(limits) > 0)
}

func (m *Model) keyNames() string {
	var names []string
	for _, k := range m.keys {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}
