package metadata

import (
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"unique"

	"kaasd/internal/kafka"
)

// QuotaSet replaces all quotas that an entity was given over the Kafka API;
// none are left when Values is empty. Keys that this version does not know are
// kept and have no effect; an entity of another type needs another kind.
type QuotaSet struct {
	User     *quotaPart         `json:"user,omitempty"`
	ClientID *quotaPart         `json:"clientId,omitempty"`
	IP       *quotaPart         `json:"ip,omitempty"`
	Values   map[string]float64 `json:"values,omitempty"` // by quota key, in the key's unit
	// Address is what the name of an ip entity stood for when it was set.
	Address netip.Addr `json:"address,omitzero"`
}

// quotaPart is a component of an entity: the default, or a name.
type quotaPart struct {
	Default bool `json:"default,omitempty"`
	Name    Name `json:"name,omitempty"`
}

// Quota is what an entity was given.
type Quota struct {
	Entity  kafka.Entity
	Values  map[string]float64
	Address netip.Addr // of an ip entity with a name, else invalid
}

// keptQuota is a Quota as an image keeps it, beside its entity. There may be tens
// of thousands, and a map of one or two keys takes a quarter of a KiB: the values
// are a list instead, and their keys strings that all of them share.
type keptQuota struct {
	values  []quotaValue
	address netip.Addr
}

type quotaValue struct {
	key   string
	value float64
}

func keep(values map[string]float64, address netip.Addr) *keptQuota {
	q := &keptQuota{values: make([]quotaValue, 0, len(values)), address: address}
	for key, v := range values {
		q.values = append(q.values, quotaValue{unique.Make(key).Value(), v})
	}
	slices.SortFunc(q.values, func(a, b quotaValue) int { return strings.Compare(a.key, b.key) })
	return q
}

func (q *keptQuota) of(e kafka.Entity) Quota {
	values := make(map[string]float64, len(q.values))
	for _, v := range q.values {
		values[v.key] = v.value
	}
	return Quota{Entity: e, Values: values, Address: q.address}
}

func (QuotaSet) kind() string { return "QuotaSet" }

// NewQuotaSet is the change that gives an entity these quotas in place of all
// it had. Without values it has none any more.
func NewQuotaSet(e kafka.Entity, values map[string]float64, address netip.Addr) QuotaSet {
	return QuotaSet{User: partOf(e.User), ClientID: partOf(e.ClientID), IP: partOf(e.IP), Values: maps.Clone(values), Address: address}
}

func partOf(n kafka.EntityName) *quotaPart {
	if !n.Present {
		return nil
	}
	return &quotaPart{Default: n.Default, Name: Name(n.Name)}
}

func (p *quotaPart) entityName() kafka.EntityName {
	if p == nil {
		return kafka.EntityName{}
	}
	return kafka.EntityName{Present: true, Default: p.Default, Name: string(p.Name)}
}

func (c QuotaSet) entity() kafka.Entity {
	return kafka.Entity{User: c.User.entityName(), ClientID: c.ClientID.entityName(), IP: c.IP.entityName()}
}

func (c QuotaSet) apply(d *Draft) error {
	e := c.entity()
	if err := checkQuotaEntity(e); err != nil {
		return err
	}
	for key, v := range c.Values {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s=%v is no quota of %s", key, v, e)
		}
	}
	if len(c.Values) == 0 {
		d.quotas.remove(e)
		return nil
	}
	d.quotas.put(e, keep(c.Values, c.Address))
	return nil
}

// checkQuotaEntity says what no entity is like.
func checkQuotaEntity(e kafka.Entity) error {
	if e == (kafka.Entity{}) {
		return errors.New("a quota belongs to nobody")
	}
	if e.IP.Present && (e.User.Present || e.ClientID.Present) {
		return fmt.Errorf("a quota belongs to an ip or to users and client-ids: %s", e)
	}
	for _, part := range []kafka.EntityName{e.User, e.ClientID, e.IP} {
		if part.Present && part.Default != (part.Name == "") {
			return fmt.Errorf("a quota belongs to a name or to the default: %s", e)
		}
	}
	return nil
}

// Quotas are all quotas that were given over the Kafka API, in no order.
func (m *Image) Quotas() iter.Seq[Quota] {
	return func(yield func(Quota) bool) {
		for e, q := range m.quotas.all() {
			if !yield(q.of(e)) {
				return
			}
		}
	}
}

// QuotaCount is how many entities have quotas given over the Kafka API.
func (m *Image) QuotaCount() int { return m.quotas.size() }

func hashEntity(e kafka.Entity) uint8 { return uint8(maphash.Comparable(seed, e)) }
