package quota

import (
	"net/netip"
	"slices"

	"kaasd/internal/kafka"
)

// Resolution says which value of one quota key applies to a client, and why.
type Resolution struct {
	Quota    string   `json:"quota"` // produce, fetch, request, mutation, connection
	Limit    *float64 `json:"limit"` // nil: none
	Unit     string   `json:"unit"`
	Level    string   `json:"level"`
	Source   string   `json:"source,omitempty"` // override, base
	SharedBy string   `json:"shared_by,omitempty"`
	Enforced bool     `json:"enforced"`
	Hidden   []Hidden `json:"hidden"`
}

// Hidden is a value that another one keeps from applying.
type Hidden struct {
	Limit  float64 `json:"limit"`
	Level  string  `json:"level"`
	Source string  `json:"source"`
}

// Resolve tells, for each quota key of users and client ids, what applies to
// that user and client id.
func (e *Enforcer) Resolve(user, clientID string) []Resolution {
	e.mu.RLock()
	defer e.mu.RUnlock()
	resolutions := make([]Resolution, 0, len(e.model.keys))
	for i := range e.model.keys {
		if k := &e.model.keys[i]; !k.ofIP {
			resolutions = append(resolutions, e.resolve(k, user, clientID))
		}
	}
	return resolutions
}

func (e *Enforcer) resolve(k *key, user, clientID string) Resolution {
	r := Resolution{Quota: k.kind.String(), Unit: k.unit, Level: levelNone, Enforced: k.enforced, Hidden: []Hidden{}}
	for i := range e.model.levels {
		l := &e.model.levels[i]
		if l.ip != absent {
			continue
		}
		if e.tell(&r, k, l.stored(user, clientID)) {
			r.SharedBy = sharedBy(l.owner.of(user, clientID))
		}
	}
	return r
}

// ResolveAddress tells what applies to connections from an address, given in any
// form an ip entity takes but a host's name. There is nothing to tell where the
// model knows no addresses.
func (e *Enforcer) ResolveAddress(ip string) ([]Resolution, error) {
	address, ok := parseAddress(ip)
	if !ok {
		return nil, kafka.Errorf(kafka.InvalidRequest, "%q is not an address", ip)
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	resolutions := []Resolution{}
	for i := range e.model.keys {
		if k := &e.model.keys[i]; k.ofIP {
			resolutions = append(resolutions, e.resolveAddress(k, address))
		}
	}
	return resolutions, nil
}

func (e *Enforcer) resolveAddress(k *key, address netip.Addr) Resolution {
	r := Resolution{Quota: k.kind.String(), Unit: k.unit, Level: levelNone, Enforced: k.enforced, Hidden: []Hidden{}}
	by := e.decideAddress(address)
	if by == nil {
		return r
	}
	e.tell(&r, k, by.owner)
	r.SharedBy = sharedBy(addressEntity(address))
	for _, entity := range append(slices.Clone(e.aliases[address]), ipDefault) {
		if entity != by.owner {
			e.tell(&r, k, entity)
		}
	}
	return r
}

// tell adds what an entity holds for a key: as the limit, if there is none
// yet, else as what the limit hides. It says whether it is the limit.
func (e *Enforcer) tell(r *Resolution, k *key, entity kafka.Entity) (decides bool) {
	level := e.model.levelName(e.model.levelOf(entity))
	if v, ok := e.value(entity, k); ok {
		source := e.source(entity, k)
		if decides = r.Limit == nil; decides {
			r.Limit, r.Level, r.Source = &v, level, source
		} else {
			r.Hidden = append(r.Hidden, Hidden{Limit: v, Level: level, Source: source})
		}
	}
	if h, ok := e.hidden(entity, k); ok {
		r.Hidden = append(r.Hidden, Hidden{Limit: h, Level: level, Source: sourceBase})
	}
	return decides
}
