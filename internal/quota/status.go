package quota

import (
	"slices"
	"time"

	"kaasd/internal/kafka"
)

// StatusFilter chooses what Status shows.
type StatusFilter struct {
	User      *string
	ClientID  *string
	Throttled bool // only those who were throttled within RateWindow, or are muted
	Limit     int  // at most so many; 0: all
}

// EntityStatus is an owner of quotas and what it uses of them.
type EntityStatus struct {
	Entity           EntityName             `json:"entity"`
	Level            string                 `json:"level"`
	MutedConnections int64                  `json:"muted_connections"`
	Quotas           map[string]QuotaStatus `json:"quotas"` // by produce, fetch, request
}

// EntityName is the parts of an owner; those it lacks are left out.
type EntityName struct {
	User     *string `json:"user,omitempty"`
	ClientID *string `json:"client_id,omitempty"`
	IP       *string `json:"ip,omitempty"`
}

// QuotaStatus is the use of one quota. What nobody accounts for is zero.
type QuotaStatus struct {
	Limit             *float64   `json:"limit"` // nil: none
	Source            string     `json:"source,omitempty"`
	Unit              string     `json:"unit"`
	Enforced          bool       `json:"enforced"`
	Rate              float64    `json:"rate"`        // over RateWindow
	Utilisation       float64    `json:"utilisation"` // rate by limit
	Debt              float64    `json:"debt"`        // bytes
	MutedConnections  int64      `json:"muted_connections"`
	Requests          int64      `json:"requests"` // judged by the limit
	ThrottledRequests int64      `json:"throttled_requests"`
	ThrottleSeconds   float64    `json:"throttle_seconds"`
	LastThrottleMs    int64      `json:"last_throttle_ms"`
	LastThrottledAt   *time.Time `json:"last_throttled_at,omitempty"`
}

// Status shows every entity with a setting or live accounting, sorted by name.
func (e *Enforcer) Status(now time.Time, f StatusFilter) []EntityStatus {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all := []EntityStatus{}
	for _, entity := range e.known() {
		if !f.names(entity) {
			continue
		}
		s, throttled := e.status(entity, now)
		if f.Throttled && !throttled {
			continue
		}
		all = append(all, s)
		if len(all) == f.Limit {
			break
		}
	}
	return all
}

func (f StatusFilter) names(e kafka.Entity) bool {
	return (f.User == nil || e.User == kafka.Named(*f.User)) &&
		(f.ClientID == nil || e.ClientID == kafka.Named(*f.ClientID))
}

// known are those with a setting or an account, sorted.
func (e *Enforcer) known() []kafka.Entity {
	all := e.entities()
	e.accounts.each(func(a *account) {
		if !a.series.named {
			all = append(all, a.owner)
		}
	})
	slices.SortFunc(all, compare)
	return slices.Compact(all)
}

// status gives the status of one entity, and whether it was throttled of late.
func (e *Enforcer) status(entity kafka.Entity, now time.Time) (EntityStatus, bool) {
	s := EntityStatus{Level: e.levelOf(entity), Quotas: map[string]QuotaStatus{}}
	if entity.User.Present {
		s.Entity.User = &entity.User.Name
	}
	if entity.ClientID.Present {
		s.Entity.ClientID = &entity.ClientID.Name
	}
	a, limits, throttled := e.accounts.get(entity), e.effective(entity), false
	for i := range e.model.keys {
		k := &e.model.keys[i]
		q := QuotaStatus{Unit: k.unit, Enforced: k.enforced}
		v, limited := limits[k.name]
		if limited {
			q.Limit, q.Source = &v, e.source(entity)
		}
		counted := a != nil && k.enforced && a.buckets[k.kind].named.Load()
		if counted {
			e.use(&q, a, k.kind, now)
			q.MutedConnections = a.buckets[k.kind].muted.Load()
			s.MutedConnections += q.MutedConnections
			throttled = throttled || q.LastThrottledAt != nil && now.Sub(*q.LastThrottledAt) < RateWindow
		}
		if limited || counted {
			s.Quotas[k.label] = q
		}
	}
	return s, throttled || s.MutedConnections > 0
}

// use fills in what the bucket has counted.
func (e *Enforcer) use(q *QuotaStatus, a *account, k Kind, now time.Time) {
	b, at := &a.buckets[k], e.ticksOf(now)
	t := b.totals()
	q.Rate = a.history[k].rate(mark{at: at, bytes: t.bytes})
	if q.Limit != nil {
		q.Utilisation = q.Rate / *q.Limit
	}
	q.Debt = b.debt(at)
	q.Requests, q.ThrottledRequests = t.checks, t.throttled
	q.ThrottleSeconds = time.Duration(t.nanos).Seconds()
	q.LastThrottleMs = ceilMillis(b.lastThrottle.Load())
	if t.throttled > 0 {
		last := e.clock.start.Add(time.Duration(b.throttledAt.Load() >> tickShift)).UTC().Round(0)
		q.LastThrottledAt = &last
	}
}

func ceilMillis(nanos int64) int64 {
	return (nanos + int64(time.Millisecond) - 1) / int64(time.Millisecond)
}

// levelOf names the level whose settings are kept under such an entity.
func (e *Enforcer) levelOf(entity kafka.Entity) string {
	for _, level := range e.model.levels {
		if level.stored(entity.User.Name, entity.ClientID.Name) == entity {
			return level.name
		}
	}
	return levelNone
}
