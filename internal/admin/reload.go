package admin

import "net/http"

// reload waits for the result and gives it back: 200, or 422 when the file is
// bad and the last good one stays in force.
func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	if !s.o.Lifecycle {
		text(w, http.StatusForbidden, "reloading over http is off (http.enable.lifecycle turns it on)\n")
		return
	}
	result, err := s.deps.Reload(r.Context())
	if err != nil {
		text(w, http.StatusUnprocessableEntity, err.Error()+"\n")
		return
	}
	text(w, http.StatusOK, result+"\n")
}
