package credstore

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"go.uber.org/zap"
)

// errMissing is a file that was there before.
var errMissing = errors.New("the file is missing")

// Reload reads the file and puts it in force if it is good. It returns when
// every subscriber has taken the new content.
func (s *Store) Reload(t Trigger) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	started := time.Now()
	s.status.LastTry = started
	r := s.reload(t, started)
	r.Users, r.SHA256 = len(s.Snapshot().Users), s.Snapshot().SHA256
	s.metrics.reloads.Count(string(t), r.Outcome, started)
	if r.Outcome == Failed {
		s.status.Error = r.Err.Error()
	} else {
		s.status.Error, s.status.LastGood = "", started
	}
	return r
}

func (s *Store) reload(t Trigger, started time.Time) Result {
	if s.path == "" {
		return Result{Outcome: Unchanged}
	}
	s.resolve()
	data, err := Read(s.path)
	switch {
	case s.absent(data, err):
		return s.stayEmpty(t, started)
	case errors.Is(err, fs.ErrNotExist):
		return s.fail(t, errMissing)
	case err != nil:
		return s.fail(t, err)
	}
	next, warnings, err := Parse(data)
	if err != nil {
		return s.fail(t, err)
	}
	back := s.gone
	s.gone = false
	if s.loaded && next.SHA256 == s.Snapshot().SHA256 {
		return s.keep(t, back)
	}
	return s.swap(t, started, next, warnings)
}

// resolve notes where the path leads: an operator whose file never changes
// sees here that it is mounted by itself.
func (s *Store) resolve() {
	s.status.Resolved, _ = filepath.EvalSymlinks(s.path)
}

// absent says whether there is no file yet.
func (s *Store) absent(data []byte, err error) bool {
	return !s.loaded && (errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0)
}

func (s *Store) stayEmpty(t Trigger, started time.Time) Result {
	if t != TriggerStart {
		return Result{Outcome: Unchanged}
	}
	s.status.InForce = started
	s.log.Warn("credentials file is missing or empty: there are no users until it has content, which is picked up when it appears", zap.String("file", s.path))
	return Result{Outcome: Applied}
}

// fail leaves the last good content in force. A file that stays away is told
// of once.
func (s *Store) fail(t Trigger, err error) Result {
	missing := errors.Is(err, errMissing)
	level := zap.ErrorLevel
	if t == TriggerStart || missing && s.gone { // the start's error goes to who starts
		level = zap.DebugLevel
	}
	s.gone = missing
	s.log.Log(level, "credentials not reloaded, the last good file stays in force",
		zap.String("trigger", string(t)), zap.String("file", s.path), zap.String("error", err.Error()),
		zap.Time("in_force_since", s.status.InForce.UTC()))
	return Result{Outcome: Failed, Err: err}
}

// keep finds the content in force once more.
func (s *Store) keep(t Trigger, back bool) Result {
	level := zap.DebugLevel
	if back {
		level = zap.InfoLevel
	}
	s.log.Log(level, "credentials file is there and unchanged", zap.String("trigger", string(t)), zap.String("file", s.path))
	return Result{Outcome: Unchanged}
}

// swap puts the content in force.
func (s *Store) swap(t Trigger, started time.Time, next *Snapshot, warnings []Finding) Result {
	old := s.Snapshot()
	s.current.Store(next)
	s.loaded = true
	s.status.InForce = started
	s.metrics.count(next)
	c := compare(old, next)
	var more []zap.Field
	for _, f := range s.subscribers {
		more = append(more, f(old, next)...)
	}
	r := Result{Outcome: Applied, Added: c.added, Removed: c.removed, QuotasChanged: c.quotas, Took: time.Since(started)}
	message := "credentials reloaded"
	if t == TriggerStart {
		message = "credentials loaded"
	}
	s.log.Info(message, append([]zap.Field{
		zap.String("trigger", string(t)), zap.Int("users", len(next.Users)), zap.Int("added", c.added), zap.Int("removed", c.removed),
		zap.Int("quotas_changed", c.quotas), zap.String("sha256", next.SHA256[:6]), zap.Duration("took", r.Took),
		zap.String("file", s.status.Resolved),
	}, more...)...)
	s.warn(warnings)
	return r
}

// warn tells what is odd about a good file: one line for each kind, so that a
// file with a thousand odd entries does not fill the log.
func (s *Store) warn(warnings []Finding) {
	first, count := map[Kind]Finding{}, map[Kind]int{}
	for _, f := range warnings {
		if count[f.Kind]++; count[f.Kind] == 1 {
			first[f.Kind] = f
		}
	}
	for _, k := range []struct {
		kind    Kind
		message string
	}{
		{Inert, "credentials: entries that cannot log in"},
		{Repeated, "credentials: entries that come twice, the last one wins"},
		{Newer, "credentials: the file has a newer version than this kaasd knows"},
		{Readable, "credentials: users with a readable password"},
		{Unknown, "credentials: fields that are not known and ignored"},
	} {
		if count[k.kind] == 0 {
			continue
		}
		level := zap.WarnLevel
		if k.kind == Unknown {
			level = zap.DebugLevel
		}
		s.log.Log(level, k.message, zap.Int("count", count[k.kind]), zap.String("first", first[k.kind].Error()))
	}
}

// watching is told whether changes of the file are noticed at once.
func (s *Store) watching(err error) {
	s.watched.Store(err == nil)
	s.metrics.watch(err == nil)
	if err != nil {
		s.log.Warn("credentials file cannot be watched, changes are noticed by a slow look", zap.String("file", s.path), zap.Error(err))
	}
}
