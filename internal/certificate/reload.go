package certificate

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/watch"
)

// Outcome is how a reload ended.
type Outcome = watch.Outcome

// The outcomes.
const (
	Applied   = watch.Applied
	Unchanged = watch.Unchanged
	Failed    = watch.Failed
)

// Result is what a reload did.
type Result struct {
	Outcome  Outcome
	NotAfter time.Time // when the first certificate in force ends
	Err      error     // why it failed
}

// String is the result in a sentence for a person.
func (r Result) String() string {
	if r.Outcome == Failed {
		return fmt.Sprintf("certificates not reloaded, the last good ones stay in force: %v", r.Err)
	}
	did := "reloaded"
	if r.Outcome == Unchanged {
		did = "unchanged"
	}
	return fmt.Sprintf("certificates %s: valid until %s", did, r.NotAfter.UTC().Format(time.RFC3339))
}

// Reload reads the files and puts them in force if they fit together. The
// trigger goes to the log and the metrics.
func (s *Store) Reload(trigger string) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.begins = time.Time{}
	r := s.reload(trigger, now)
	s.status.Error = ""
	if r.Err != nil {
		s.status.Error = r.Err.Error()
	}
	if held := s.current.Load(); held != nil {
		r.NotAfter = held.firstEnd(s.status.InForce)
	}
	s.metrics.reloads.Count(trigger, r.Outcome, now)
	return r
}

func (s *Store) reload(trigger string, now time.Time) Result {
	read, err := s.options.read()
	if err != nil {
		return s.fail(trigger, err)
	}
	held := s.current.Load()
	if held != nil && held.sum == s.options.sum(read) {
		s.log.Debug("certificates unchanged", zap.String("trigger", trigger))
		return Result{Outcome: Unchanged}
	}
	next, err := parse(s.options.Files, read, s.options.MinVersion)
	if err != nil {
		return s.fail(trigger, err)
	}
	if held != nil {
		if err := next.timely(held, now); err != nil {
			return s.fail(trigger, err)
		}
	}
	s.swap(trigger, next, now)
	return Result{Outcome: Applied}
}

// fail leaves the last good set in force. The same fault, noticed once more by
// the change of another file, is told of once.
func (s *Store) fail(trigger string, err error) Result {
	s.begins = Begins(err)
	noticed := trigger == watch.TriggerWatch || trigger == watch.TriggerPoll
	level := zap.ErrorLevel
	if trigger == watch.TriggerStart || noticed && err.Error() == s.status.Error { // the start's error goes to who starts
		level = zap.DebugLevel
	}
	s.log.Log(level, "certificates not reloaded, the last good ones stay in force",
		zap.String("trigger", trigger), zap.Error(err), zap.Time("in_force_since", s.status.InForce.UTC()))
	return Result{Outcome: Failed, Err: err}
}

// swap puts a set in force.
func (s *Store) swap(trigger string, next *set, now time.Time) {
	s.current.Store(next)
	s.status.InForce = now
	s.metrics.inForce(next, now)
	next.tell(s.log, now)
	message := "certificates reloaded"
	if trigger == watch.TriggerStart {
		message = "certificates loaded"
	}
	for i, file := range s.options.Certs {
		leaf := next.pairs[i].TLS.Leaf
		s.log.Info(message, zap.String("trigger", trigger), zap.String("file", file), zap.String("serial", leaf.SerialNumber.Text(16)),
			zap.Strings("names", leaf.DNSNames), zap.Time("not_after", next.pairs[i].End.UTC()), zap.Int("client_authorities", next.authorities.Count()))
	}
}
