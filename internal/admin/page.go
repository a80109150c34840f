package admin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// page is one path and what answers it.
type page struct {
	path  string // one that ends in / below the root stands for what is under it
	post  bool   // POST instead of GET and HEAD
	about string
	serve http.HandlerFunc
}

// index is every page, in the order people see them.
func (s *Server) index() []page {
	pages := []page{
		{"/livez", false, "200 while a restart would not help", s.livez},
		{"/healthz", false, "the same", s.livez},
		{"/readyz", false, "200 when clients should come; ?verbose lists the checks", s.readyz},
		{"/metrics", false, "Prometheus metrics", s.metrics()},
		{"/v1/status", false, "what runs here", s.status},
		{"/v1/quotas", false, "quota entities and their use; ?user= ?client_id= ?ip= ?throttled=true ?limit=", s.quotas},
		{"/v1/quotas/resolve", false, "which limits hold, and why; ?user= ?client_id= ?ip=", s.resolve},
		{"/-/reload", true, "POST: read again what is live: credentials, certificates, http config", s.reload},
	}
	if s.o.Pprof {
		pages = append(pages, page{"/debug/pprof/", false, "Go's profiles", profile})
	}
	return pages
}

// ServeHTTP finds the page of a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range strict {
		w.Header().Set(name, value)
	}
	if s.o.Gate != nil && !s.o.Gate.guard(w, r) {
		return
	}
	if r.URL.Path == "/" {
		s.answer(w, r, page{serve: s.root})
		return
	}
	for _, p := range s.pages {
		if r.URL.Path == p.path || strings.HasSuffix(p.path, "/") && strings.HasPrefix(r.URL.Path, p.path) {
			s.answer(w, r, p)
			return
		}
	}
	text(w, http.StatusNotFound, fmt.Sprintf("no page %s; there are:\n%s", r.URL.Path, s.list()))
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, p page) {
	allowed := "GET, HEAD"
	fits := r.Method == http.MethodGet || r.Method == http.MethodHead
	if p.post {
		allowed, fits = "POST", r.Method == http.MethodPost
	}
	if !fits {
		w.Header().Set("Allow", allowed)
		text(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s is not for %s (%s)\n", r.Method, r.URL.Path, allowed))
		return
	}
	if p.post && fromPage(r) {
		text(w, http.StatusForbidden, "a page in a browser must not ask for this\n")
		return
	}
	p.serve(w, r)
}

// fromPage says whether a page in a browser sends a request. Those of kaasd send none
// that does something, so it is another site's, also where its name leads here (DNS
// rebinding): then the browser takes it for one of ours.
func fromPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Origin") != "" || site != "" && site != "none"
}

func (s *Server) root(w http.ResponseWriter, _ *http.Request) {
	text(w, http.StatusOK, "kaasd\n\n"+s.list())
}

func (s *Server) list() string {
	var b strings.Builder
	for _, p := range s.pages {
		if p.post && !s.o.Lifecycle {
			continue // it says what turns it on to who asks for it
		}
		fmt.Fprintf(&b, "  %-20s %s\n", p.path, p.about)
	}
	return b.String()
}

func (s *Server) metrics() http.HandlerFunc {
	return promhttp.HandlerFor(s.deps.Metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP
}

func profile(w http.ResponseWriter, r *http.Request) {
	switch strings.TrimPrefix(r.URL.Path, "/debug/pprof/") {
	case "cmdline":
		// The arguments name files; nothing needs them remotely.
		text(w, http.StatusNotFound, "not served\n")
	case "profile":
		pprof.Profile(w, r)
	case "symbol":
		pprof.Symbol(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}

func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	io.WriteString(w, body)
}

// document writes v as JSON; the encoder ends it with a line feed.
func document(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(v)
}
