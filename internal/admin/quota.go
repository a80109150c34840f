package admin

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// Quotas is the document of /v1/quotas.
type Quotas struct {
	AsOf          time.Time            `json:"as_of"`
	WindowSeconds float64              `json:"window_seconds"` // what a rate is taken over
	Entities      []quota.EntityStatus `json:"entities"`
}

// Resolution is the document of /v1/quotas/resolve: what holds for a user with
// a client id, for an address, or for both.
type Resolution struct {
	User     *string            `json:"user,omitempty"`
	ClientID *string            `json:"client_id,omitempty"`
	IP       *string            `json:"ip,omitempty"`
	Quotas   []quota.Resolution `json:"quotas"`
}

func (s *Server) quotas(w http.ResponseWriter, r *http.Request) {
	f, err := parseFilter(r.URL.RawQuery)
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

func parseFilter(query string) (quota.StatusFilter, error) {
	q, err := parameters(query, "user", "client_id", "ip", "throttled", "limit")
	if err != nil {
		return quota.StatusFilter{}, err
	}
	f := quota.StatusFilter{User: param(q, "user"), ClientID: param(q, "client_id"), IP: param(q, "ip")}
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

// parameters refuses what is misspelt, said twice or badly escaped: a filter
// that is ignored shows everything and looks like an answer.
func parameters(query string, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the parameters are badly escaped: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("unknown parameter %q (known: %s)", name, strings.Join(known, ", "))
		case len(q[name]) > 1:
			return nil, fmt.Errorf("parameter %s stands twice", name)
		}
	}
	return q, nil
}

func param(q url.Values, name string) *string {
	if !q.Has(name) {
		return nil
	}
	v := q.Get(name)
	return &v
}

func (s *Server) resolve(w http.ResponseWriter, r *http.Request) {
	resolution, err := s.resolution(r.URL.RawQuery)
	if err != nil {
		text(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	document(w, resolution)
}

// resolution is of a user with a client id when either is named: the user is
// that of clients without a log-in, the client id an empty one, if it is not.
func (s *Server) resolution(query string) (Resolution, error) {
	q, err := parameters(query, "user", "client_id", "ip")
	if err != nil {
		return Resolution{}, err
	}
	r := Resolution{User: param(q, "user"), ClientID: param(q, "client_id"), IP: param(q, "ip"), Quotas: []quota.Resolution{}}
	if r.User == nil && r.ClientID == nil && r.IP == nil {
		return r, errors.New("whose limits? (user=, client_id= or ip=)")
	}
	if r.ClientID != nil && r.User == nil {
		anonymous := kafka.Anonymous.Name
		r.User = &anonymous
	}
	if r.User != nil {
		r.Quotas = append(r.Quotas, s.deps.Resolve(*r.User, q.Get("client_id"))...)
	}
	if r.IP == nil {
		return r, nil
	}
	address, err := s.deps.ResolveAddress(*r.IP)
	if err != nil {
		return r, errors.New(kafka.MessageOf(err))
	}
	r.Quotas = append(r.Quotas, address...)
	return r, nil
}
