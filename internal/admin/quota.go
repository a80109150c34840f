package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// QuotaFilter narrows /v1/quotas.
type QuotaFilter struct {
	User, ClientID *string // nil: any
	Throttled      bool    // only entities that are in debt or have muted connections
	Limit          int     // at most so many; 0: all
}

// Quotas is the document of /v1/quotas.
type Quotas struct {
	AsOf          time.Time `json:"as_of"`
	WindowSeconds float64   `json:"window_seconds"` // what Rate is taken over
	Entities      []Entity  `json:"entities"`
}

// Entity is one owner of quotas.
type Entity struct {
	Entity           map[string]*string `json:"entity"` // user, client_id; null: the default
	Level            string             `json:"level"`
	MutedConnections int                `json:"muted_connections"`
	Quotas           map[string]Quota   `json:"quotas"` // produce, fetch, request, ...
}

// Quota is one limit and its use.
type Quota struct {
	Limit             *float64   `json:"limit"`  // null: none
	Source            string     `json:"source"` // base, override; empty: no limit
	Unit              string     `json:"unit"`   // bytes/s, percent
	Rate              float64    `json:"rate"`
	Utilisation       float64    `json:"utilisation"` // rate / limit
	Debt              float64    `json:"debt"`        // in the unit without /s
	ThrottledRequests uint64     `json:"throttled_requests"`
	ThrottleSeconds   float64    `json:"throttle_seconds"`
	LastThrottleMs    int64      `json:"last_throttle_ms"`
	LastThrottledAt   *time.Time `json:"last_throttled_at"`
}

// Resolution is the document of /v1/quotas/resolve.
type Resolution struct {
	User     string     `json:"user"`
	ClientID string     `json:"client_id"`
	Quotas   []Resolved `json:"quotas"`
	Hidden   []Resolved `json:"hidden"` // limits that a stronger one covers
}

// Resolved is the limit of one quota and why it holds.
type Resolved struct {
	Quota    string   `json:"quota"`
	Limit    *float64 `json:"limit"` // null: none
	Unit     string   `json:"unit"`
	Level    string   `json:"level"`
	Source   string   `json:"source"`
	SharedBy string   `json:"shared_by,omitempty"`
}

func (s *Server) quotas(w http.ResponseWriter, r *http.Request) {
	f, err := parseFilter(r.URL.Query())
	if err != nil {
		text(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	q := s.deps.Quotas(f, time.Now())
	if q.Entities == nil {
		q.Entities = []Entity{}
	}
	document(w, q)
}

func parseFilter(q url.Values) (QuotaFilter, error) {
	if err := onlyKnown(q, "user", "client_id", "throttled", "limit"); err != nil {
		return QuotaFilter{}, err
	}
	f := QuotaFilter{User: param(q, "user"), ClientID: param(q, "client_id")}
	if v := param(q, "throttled"); v != nil {
		b, err := strconv.ParseBool(*v)
		if err != nil {
			return f, fmt.Errorf("throttled=%q is not true or false", *v)
		}
		f.Throttled = b
	}
	if v := param(q, "limit"); v != nil {
		n, err := strconv.Atoi(*v)
		if err != nil || n < 1 {
			return f, fmt.Errorf("limit=%q is not a whole number above zero", *v)
		}
		f.Limit = n
	}
	return f, nil
}

// onlyKnown refuses a misspelt parameter: a filter that is ignored shows
// everything and looks like an answer.
func onlyKnown(q url.Values, known ...string) error {
	for name := range q {
		found := false
		for _, k := range known {
			found = found || k == name
		}
		if !found {
			return fmt.Errorf("unknown parameter %q (known: %v)", name, known)
		}
	}
	return nil
}

func param(q url.Values, name string) *string {
	if !q.Has(name) {
		return nil
	}
	v := q.Get(name)
	return &v
}

func (s *Server) resolve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if err := onlyKnown(q, "user", "client_id"); err != nil {
		text(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	res := s.deps.Resolve(q.Get("user"), q.Get("client_id"))
	if res.Hidden == nil {
		res.Hidden = []Resolved{}
	}
	document(w, res)
}
