package admin

import (
	"fmt"
	"net/http"
	"strings"
)

// Check is one part of readiness.
type Check struct {
	Name   string // listeners, recovery, storage, credentials
	OK     bool
	Aside  bool   // shown, but clients may come although it is not OK
	Word   string // what one that is Aside and not OK is called; empty: stale
	Detail string // "41 of 60 partitions"; empty when there is nothing to say
}

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	if err := s.deps.Alive(); err != nil {
		text(w, http.StatusInternalServerError, "a restart is needed: "+err.Error()+"\n")
		return
	}
	text(w, http.StatusOK, "ok\n")
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	checks := s.deps.Checks()
	code, line := readiness(checks)
	if r.URL.Query().Has("verbose") {
		line += verbose(checks)
	}
	text(w, code, line)
}

// readiness is one line with the checks that fail.
func readiness(checks []Check) (code int, line string) {
	var missing []string
	for _, c := range checks {
		if !c.OK && !c.Aside {
			missing = append(missing, strings.TrimSpace(c.Name+" "+c.Detail))
		}
	}
	if missing == nil {
		return http.StatusOK, "ready\n"
	}
	return http.StatusServiceUnavailable, "not ready: " + strings.Join(missing, ", ") + "\n"
}

func verbose(checks []Check) string {
	var b strings.Builder
	for _, c := range checks {
		mark := "ok"
		switch {
		case !c.OK && c.Aside:
			if mark = "stale"; c.Word != "" {
				mark = c.Word
			}
		case !c.OK:
			mark = "no"
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-12s %-5s %s", c.Name, mark, c.Detail), " ") + "\n")
	}
	return b.String()
}
