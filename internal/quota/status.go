package quota

import (
	"math"
	"slices"
	"time"

	"kaasd/internal/kafka"
)

// StatusFilter chooses what Status shows.
type StatusFilter struct {
	User      *string
	ClientID  *string
	IP        *string
	Throttled bool // only those who were throttled within RateWindow, or are muted
	Limit     int  // at most so many; 0: all
}

// EntityStatus is an owner of quotas and what it uses of them.
type EntityStatus struct {
	Entity           EntityName             `json:"entity"`
	Level            string                 `json:"level"`
	MutedConnections int64                  `json:"muted_connections"`
	Quotas           map[string]QuotaStatus `json:"quotas"` // by produce, fetch, request, mutation, connection
}

// EntityName is the parts of an owner; those it lacks are left out. A default
// is a part without a name.
type EntityName struct {
	User          *string `json:"user,omitempty"`
	ClientID      *string `json:"client_id,omitempty"`
	IP            *string `json:"ip,omitempty"`
	UserDefault   bool    `json:"user_default,omitempty"`
	ClientDefault bool    `json:"client_default,omitempty"`
	IPDefault     bool    `json:"ip_default,omitempty"`
}

func entityName(e kafka.Entity) EntityName {
	name := func(n kafka.EntityName) *string {
		if !isNamed(n) {
			return nil
		}
		return &n.Name
	}
	return EntityName{
		User: name(e.User), ClientID: name(e.ClientID), IP: name(e.IP),
		UserDefault: e.User.Default, ClientDefault: e.ClientID.Default, IPDefault: e.IP.Default,
	}
}

// QuotaStatus is the use of one quota. What nobody accounts for is zero.
type QuotaStatus struct {
	Limit             *float64   `json:"limit"`           // nil: none
	Level             string     `json:"level,omitempty"` // that decides
	Source            string     `json:"source,omitempty"`
	Unit              string     `json:"unit"`
	Enforced          bool       `json:"enforced"`
	Rate              float64    `json:"rate"`        // over RateWindow
	Utilisation       float64    `json:"utilisation"` // rate by limit
	Debt              float64    `json:"debt"`        // in the unit, without its time
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
	for _, a := range e.sorted(f) {
		s, throttled := e.status(a, now)
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
		(f.ClientID == nil || e.ClientID == kafka.Named(*f.ClientID)) &&
		(f.IP == nil || e.IP == kafka.Named(*f.IP))
}

// sorted are the accounts that the filter names, by name.
func (e *Enforcer) sorted(f StatusFilter) []*account {
	var all []*account
	for _, a := range e.accounts.all {
		if f.names(a.owner) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *account) int { return compare(a.owner, b.owner) })
	return all
}

// status gives the status of one entity, and whether it was throttled of late.
func (e *Enforcer) status(a *account, now time.Time) (EntityStatus, bool) {
	s := EntityStatus{Entity: entityName(a.owner), Level: e.model.levelName(a.level), Quotas: map[string]QuotaStatus{}}
	throttled := false
	for i := range e.model.keys {
		k := &e.model.keys[i]
		q := QuotaStatus{Unit: k.unit, Enforced: k.enforced}
		limited := e.limitOf(&q, a, k)
		b := a.buckets[k.kind]
		counted := b != nil && b.named
		if counted {
			e.use(&q, b, k, now)
			s.MutedConnections += q.MutedConnections
			throttled = throttled || q.LastThrottledAt != nil && now.Sub(*q.LastThrottledAt) < RateWindow
		}
		if limited || counted {
			s.Quotas[k.kind.String()] = q
		}
	}
	return s, throttled || s.MutedConnections > 0
}

// limitOf fills in the value that is set for an entity, else the one that its
// buckets have by another. It says whether there is one.
func (e *Enforcer) limitOf(q *QuotaStatus, a *account, k *key) bool {
	by := a
	if _, own := e.value(a.owner, k); !own {
		if a.buckets[k.kind] == nil {
			return false
		}
		if by = e.judge(a.owner, k.kind); by == nil {
			return false
		}
	}
	v, _ := e.value(by.owner, k)
	q.Limit, q.Level, q.Source = &v, e.model.levelName(by.level), e.source(by.owner, k)
	return true
}

// use fills in what the bucket has counted.
func (e *Enforcer) use(q *QuotaStatus, b *bucket, k *key, now time.Time) {
	at, t := e.ticksOf(now), b.totals()
	q.Rate = b.rate(t.units, at) / k.scale
	if q.Limit != nil {
		q.Utilisation = min(q.Rate / *q.Limit, math.MaxFloat64) // there is no infinity in JSON
	}
	q.Debt = b.debt(at) / k.scale
	q.MutedConnections, q.Requests = b.waiting(), t.checks
	q.ThrottledRequests = t.throttled
	q.ThrottleSeconds = time.Duration(t.nanos).Seconds()
	q.LastThrottleMs = int64(b.lastMillis.Load())
	if t.throttled > 0 {
		last := e.clock.start.Add(time.Duration(b.throttledAt.Load() >> tickShift)).UTC().Round(0)
		q.LastThrottledAt = &last
	}
}
