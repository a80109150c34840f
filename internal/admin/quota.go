package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"kaasd/internal/quota"
)

// Quotas is the document of /v1/quotas.
type Quotas struct {
	AsOf          time.Time            `json:"as_of"`
	WindowSeconds float64              `json:"window_seconds"` // what a rate is taken over
	Entities      []quota.EntityStatus `json:"entities"`
}

// Resolution is the document of /v1/quotas/resolve.
type Resolution struct {
	User     string             `json:"user"`
	ClientID string             `json:"client_id"`
	Quotas   []quota.Resolution `json:"quotas"`
}

func (s *Server) quotas(w http.ResponseWriter, r *http.Request) {
	f, err := parseFilter(r.URL.Query())
	if err != nil {
		text(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	q := s.deps.Quotas(f, time.Now().UTC())
	if q.Entities == nil {
		q.Entities = []quota.EntityStatus{}
	}
	document(w, q)
}

func parseFilter(q url.Values) (quota.StatusFilter, error) {
	if err := onlyKnown(q, "user", "client_id", "throttled", "limit"); err != nil {
		return quota.StatusFilter{}, err
	}
	f := quota.StatusFilter{User: param(q, "user"), ClientID: param(q, "client_id")}
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
	document(w, s.deps.Resolve(q.Get("user"), q.Get("client_id")))
}
