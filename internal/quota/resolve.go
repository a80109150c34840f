package quota

import "kaasd/internal/kafka"

// Resolution says which value of one quota key applies to a client, and why.
type Resolution struct {
	Quota    string   `json:"quota"` // produce, fetch, request
	Limit    *float64 `json:"limit"` // nil: none
	Unit     string   `json:"unit"`
	Level    string   `json:"level"`
	Source   string   `json:"source,omitempty"` // override, base
	SharedBy string   `json:"shared_by,omitempty"`
	Enforced bool     `json:"enforced"`
	Hidden   []Hidden `json:"hidden,omitempty"`
}

// Hidden is a value that another one keeps from applying.
type Hidden struct {
	Limit  float64 `json:"limit"`
	Level  string  `json:"level"`
	Source string  `json:"source"`
}

// levelNone is the level of those whom no setting limits.
const levelNone = "none"

// Resolve tells, for each quota key, what applies to that user and client id.
func (e *Enforcer) Resolve(user, clientID string) []Resolution {
	e.mu.RLock()
	defer e.mu.RUnlock()
	resolutions := make([]Resolution, 0, len(e.model.keys))
	for i := range e.model.keys {
		resolutions = append(resolutions, e.resolve(&e.model.keys[i], user, clientID))
	}
	return resolutions
}

func (e *Enforcer) resolve(k *key, user, clientID string) Resolution {
	r := Resolution{Quota: k.label, Unit: k.unit, Level: levelNone, Enforced: k.enforced}
	for _, level := range e.model.levels {
		entity := level.stored(user, clientID)
		if v, ok := e.effective(entity)[k.name]; ok && r.Limit == nil {
			r.Limit, r.Level, r.Source = &v, level.name, e.source(entity)
			r.SharedBy = level.shared(user, clientID)
		}
		if h, ok := e.hidden(entity, k); ok {
			r.Hidden = append(r.Hidden, Hidden{Limit: h, Level: level.name, Source: sourceBase})
		}
	}
	return r
}

// hidden is the value of the file that an override stands before.
func (e *Enforcer) hidden(entity kafka.Entity, k *key) (float64, bool) {
	if e.source(entity) != sourceOverride {
		return 0, false
	}
	v, ok := e.base[entity][k.name]
	return v, ok
}
